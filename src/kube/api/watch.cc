#include "kube/api/watch.h"

#include <malloc.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/chance.h"
#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kLineLimit = 16u << 20;
constexpr size_t kLargePage = 8u << 20;     // bytes; the next page is asked for with fewer objects
constexpr int64_t kQuickEndNs = kNsPerSec;  // a stream that ends sooner is not reopened at once
constexpr int64_t kQuickGoneNs = 30 * kNsPerSec, kMaxPauseNs = 30 * kNsPerSec;  // lists are dear: see run()
constexpr int kRefusals = 3;                                                    // then the version may be to blame
constexpr int64_t kTurnNs = kNsPerSec / 20;  // a request's share of what the whole program may ask for

std::string version_of(const Json& object) { return text_at(object, {"metadata", "resourceVersion"}); }

// {"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}
bool says_gone(const Json& status) {
  const Json* code = find(status, {"code"});
  const std::string reason = text_at(status, {"reason"});
  return (code != nullptr && code->is_number() && code->get<double>() == 410) || reason == "Expired" ||
         reason == "Gone";
}

}  // namespace

Watch::Watch(std::shared_ptr<ApiServer> server, int stop_fd, WatchOptions options)
    : options_(std::move(options)),
      client_(std::move(server), stop_fd),
      cache_(options_.packed),
      page_(options_.page) {}

void Watch::run() {
  while (!client_.stopped()) {
    const bool listing = version_.empty();
    const int64_t begin_ns = system_clock().monotonic_ns();
    told_ = false;
    End end = listing ? list() : stream();
    if (end == End::stopped) return;
    if (end == End::normal && listing) {
      last_complaint_.clear();
      continue;
    }
    if (!listing) ++restarts_;
    refusals_ = listing || told_ || end != End::refused ? 0 : refusals_ + 1;
    if (end == End::refused) end = refusals_ < kRefusals ? End::failed : End::gone;
    if (end == End::gone) {
      version_.clear();
      ++relists_;
    }
    // A list that worked says nothing of the stream behind it: only a stream that told something, or lived, sets the
    // pauses back. Whoever can make streams useless must not make us list all day.
    const int64_t lived_ns = system_clock().monotonic_ns() - begin_ns;
    const bool quick = lived_ns < (end == End::gone ? kQuickGoneNs : kQuickEndNs);
    if (end != End::failed && (told_ || !quick)) backoff_.reset();
    const int64_t pause_ms = end == End::gone ? std::min(list_ns_, kMaxPauseNs) / kNsPerMs : int64_t{0};
    if ((end == End::failed || quick) && !back_off(std::max(retry_after_ms_, pause_ms))) return;
  }
}

bool Watch::back_off(int64_t at_least_ms) {
  retry_after_ms_ = 0;
  return client_.sleep_ms(std::max<int64_t>(backoff_.next_ms(chance(), at_least_ms), 10));
}

void Watch::complain(const char* what, const ApiAnswer& answer) {
  std::string text = std::string(what) + " " + options_.resource + ": " + answer.text();
  if (answer.status == 403) text += " (give the service account get, list and watch on it)";
  if (answer.status == 404) text += " (is its CRD installed?)";
  if (text != last_complaint_) log::warn(text + "; it is tried again");
  last_complaint_ = std::move(text);
  retry_after_ms_ = answer.retry_after_ms;
  // What a person has to mend first is not asked for every few hundred milliseconds.
  if (answer.status >= 400 && answer.status < 500 && answer.status != 429)
    retry_after_ms_ = std::max<int64_t>(retry_after_ms_, 5'000);
}

// Where a list begins is known from its first page, but counts only after its last: a watch from there would never be
// told what the missing pages hold. The pages of a list that had to be continued from a newer state differ in their
// version; the first one's misses nothing.
Watch::End Watch::list() {
  std::unordered_set<std::string> seen;
  std::string next, version;
  for (list_ns_ = kTurnNs;; list_ns_ += kTurnNs) {
    std::string path = options_.path + "?limit=" + std::to_string(page_) + options_.selector;
    if (!next.empty()) path += "&continue=" + percent_encode(next, false);
    const ApiAnswer answer = client_.get(path);
    if (answer.stopped) return End::stopped;
    if (answer.gone() && !next.empty()) {  // the list is older than what the server remembers: from its beginning
      next.clear();
      version.clear();
      seen.clear();
      if (!back_off(0)) return End::stopped;
      continue;
    }
    if (!answer.ok()) {
      if (answer.too_large && page_ > 1) page_ = std::max(1, page_ / 4);
      refused_ = answer.status == 403 || answer.status == 404 || answer.status == 405;
      complain("cannot list", answer);
      return End::failed;
    }
    const std::optional<ListHead> head = split_list(answer.body, [&](std::string_view item) { take_item(item, seen); });
    if (!head || head->resource_version.empty()) {
      complain("cannot read the list of", {.message = "the answer is no list"});
      return End::failed;
    }
    if (version.empty()) version = head->resource_version;
    next = head->continue_token;
    if (next.empty()) break;
    if (answer.body.size() > kLargePage && page_ > 1) page_ = std::max(1, page_ / 2);
  }
  for (const std::string& key : cache_.keys()) {
    if (!seen.contains(key)) remove(key);
  }
  version_ = std::move(version);
  refused_ = false;
  synced_ = true;
  ::malloc_trim(0);  // the pages were large, what is kept is small
  return End::normal;
}

// An object that nobody can read is as if it were not there; the others are not to suffer for it.
void Watch::take_item(std::string_view item, std::unordered_set<std::string>& seen) {
  const std::optional<Json> object = parse_json(item);
  if (object && fits(*object)) return put(*object, &seen);
  log::warn("an object in the list of " + options_.resource +
            " is left out: " + (object ? "it is of another kind" : "it is no JSON, too large or nested too deeply"));
}

// Items of a list of built-in kinds do not say what they are.
bool Watch::fits(const Json& object) const {
  const std::string kind = text_at(object, {"kind"});
  return object.is_object() && !object_key(object).empty() &&
         (options_.kind.empty() || kind.empty() || kind == options_.kind);
}

Watch::End Watch::stream() {
  const auto timeout_s = static_cast<int64_t>(static_cast<double>(options_.timeout_s) * (0.8 + 0.4 * chance()) + 0.5);
  ApiRequest request;
  request.path = options_.path +
                 "?watch=1&allowWatchBookmarks=true&resourceVersion=" + percent_encode(version_, false) +
                 "&timeoutSeconds=" + std::to_string(std::max<int64_t>(timeout_s, 1)) + options_.selector;
  request.total_ms = (timeout_s + options_.stall_s) * 1'000;
  request.wait_ms = 0;
  End end = End::normal;
  line_.clear();
  request.on_chunk = [&](std::string_view piece) {
    for (size_t newline = 0; (newline = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(newline + 1)) {
      line_ += piece.substr(0, newline);
      const bool go_on = take_line(line_, end);
      line_.clear();
      if (!go_on) return false;
    }
    line_ += piece;
    if (line_.size() > kLineLimit) end = End::gone;  // asked for again from here it would come again
    return line_.size() <= kLineLimit;
  };
  const ApiAnswer answer = client_.send(request);
  line_.shrink_to_fit();
  if (end != End::normal) return end;
  if (client_.stopped()) return End::stopped;
  if (answer.gone()) return End::gone;
  if (answer.ok() || answer.status == 0) return End::normal;  // an end, a cut or a stall: resumed where it was
  complain("cannot watch", answer);
  return end_of(answer);
}

// Who is not known, or asks too often, is told so whatever the version.
Watch::End Watch::end_of(const ApiAnswer& refusal) {
  return refusal.status == 401 || refusal.status == 429 ? End::failed : End::refused;
}

// One event: {"type":"MODIFIED","object":{…}}. False ends the stream.
bool Watch::take_line(std::string_view line, End& end) {
  const std::optional<Json> event = parse_json(line);
  const Json* object = event ? find(*event, {"object"}) : nullptr;
  if (object == nullptr) {
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) return true;
    end = End::gone;  // what was in it is not known: only a new list can tell
    return false;
  }
  const std::string type = text_at(*event, {"type"});
  if (type == "ERROR") {
    ApiAnswer status;
    read_status(dump_json(*object), status);
    end = says_gone(*object) ? End::gone : end_of(status);
    if (end != End::gone) complain("the server ended the watch of", status);
    return false;
  }
  const bool told = type == "ADDED" || type == "MODIFIED" || type == "DELETED";
  if (type != "BOOKMARK" && (!told || !fits(*object))) {
    end = End::gone;  // as above: whatever it was meant to say was not understood
    return false;
  }
  if (told && type != "DELETED") put(*object, nullptr);
  if (type == "DELETED") remove(object_key(*object), text_at(*object, {"metadata", "uid"}));
  if (const std::string version = version_of(*object); !version.empty()) version_ = version;
  told_ = true;
  return true;
}

void Watch::put(const Json& object, std::unordered_set<std::string>* seen) {
  const std::string key = object_key(object);
  if (key.empty()) return;
  if (options_.wanted && !options_.wanted(object)) {
    remove(key);  // it was wanted before, perhaps
    return;
  }
  if (seen != nullptr) seen->insert(key);
  CachedObject now{text_at(object, {"metadata", "uid"}), version_of(object), nullptr};
  const CachedObject old = cache_.peek(key);
  if (old.json && old.uid == now.uid && old.resource_version == now.resource_version) return;
  if (old.json && old.uid != now.uid) remove(key);  // deleted and made again during a gap
  Json kept = object;
  if (kept.contains("metadata")) kept["metadata"].erase("managedFields");
  // {"kind":"JobList","apiVersion":"batch/v1","items":[{"metadata":{…},…}]}: only the list says what its items are.
  if (!options_.kind.empty() && !kept.contains("kind")) {
    kept["apiVersion"] = options_.api_version;
    kept["kind"] = options_.kind;
  }
  if (options_.trim) options_.trim(kept);
  now.json = std::make_shared<const std::string>(dump_json(kept));
  cache_.put(key, now);
  tell(options_.on_put, key, now);
}

// Whoever is told may stumble over an object of a shape that nobody thought of: the watch goes on.
void Watch::tell(const std::function<void(const std::string&, const CachedObject&)>& whom, const std::string& key,
                 const CachedObject& object) {
  if (!whom) return;
  try {
    whom(key, object);
  } catch (const std::exception& error) {
    log::warn(options_.resource + " " + key + " could not be worked on: " + error.what());
  }
}

void Watch::put_reply(const std::string& key, const std::string& from, std::string_view json) {
  const std::optional<Json> object = parse_json(json);
  if (!object || object_key(*object) != key) return;
  Json kept = *object;
  kept["metadata"].erase("managedFields");
  if (options_.trim) options_.trim(kept);
  CachedObject now{text_at(kept, {"metadata", "uid"}), version_of(kept),
                   std::make_shared<const std::string>(dump_json(kept))};
  // Deleted meanwhile, replaced by another of its name, or changed again: the watch knows better.
  if (!cache_.replace(key, from, now) || !options_.on_put) return;
  // The watch will find this version known and say nothing, and there may be more in it than we wrote. If it has told
  // of a newer one just now, that is told last.
  for (std::string told; now.json && told != now.resource_version; now = cache_.get(key)) {
    told = now.resource_version;
    tell(options_.on_put, key, now);
  }
}

// A list that was continued from a newer state may know the next one of this name already.
void Watch::remove(const std::string& key, const std::string& uid) {
  const std::string known = cache_.peek(key).uid;
  if (uid.empty() || known.empty() || known == uid) remove(key);
}

void Watch::remove(const std::string& key) {
  const CachedObject gone = cache_.get(key);
  if (!gone.json) return;
  cache_.erase(key);
  tell(options_.on_delete, key, gone);
}

}  // namespace tacho
