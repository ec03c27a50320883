#include "kube/watch.h"

#include <malloc.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kLineLimit = 16u << 20;
constexpr int64_t kQuickEndNs = kNsPerSec;  // a stream that ends sooner is not reopened at once

double chance() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

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
    : options_(std::move(options)), client_(std::move(server), stop_fd), cache_(options_.packed) {}

void Watch::run() {
  while (!client_.stopped()) {
    const bool listing = version_.empty();
    const int64_t begin_ns = system_clock().monotonic_ns();
    const End end = listing ? list() : stream();
    if (end == End::stopped) return;
    if (end == End::normal && listing) {
      backoff_.reset();
      last_complaint_.clear();
      continue;
    }
    if (!listing) ++restarts_;
    if (end == End::gone) {
      version_.clear();
      ++relists_;
    }
    const bool quick = system_clock().monotonic_ns() - begin_ns < kQuickEndNs;
    if (end == End::normal && !quick) backoff_.reset();
    if ((end == End::failed || quick) && !back_off(retry_after_ms_)) return;
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

Watch::End Watch::list() {
  std::unordered_set<std::string> seen;
  std::string next;
  for (;;) {
    std::string path = options_.path + "?limit=" + std::to_string(options_.page) + options_.selector;
    if (!next.empty()) path += "&continue=" + percent_encode(next, false);
    const ApiAnswer answer = client_.get(path);
    if (answer.stopped) return End::stopped;
    if (answer.gone() && !next.empty()) {  // the list is older than what the server remembers: from its beginning
      next.clear();
      seen.clear();
      if (!back_off(0)) return End::stopped;
      continue;
    }
    if (!answer.ok()) {
      complain("cannot list", answer);
      return End::failed;
    }
    const std::optional<ListHead> head = split_list(answer.body, [&](std::string_view item) {
      if (const std::optional<Json> object = parse_json(item)) put(*object, &seen);
    });
    if (!head || head->resource_version.empty()) {
      complain("cannot read the list of", {.message = "the answer is no list"});
      return End::failed;
    }
    version_ = head->resource_version;
    next = head->continue_token;
    if (next.empty()) break;
  }
  for (const std::string& key : cache_.keys()) {
    if (!seen.contains(key)) remove(key);
  }
  synced_ = true;
  ::malloc_trim(0);  // the pages were large, what is kept is small
  return End::normal;
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
    if (line_.size() > kLineLimit) end = End::failed;
    return line_.size() <= kLineLimit;
  };
  const ApiAnswer answer = client_.send(request);
  line_.shrink_to_fit();
  if (end != End::normal) return end;
  if (client_.stopped()) return End::stopped;
  if (answer.gone()) return End::gone;
  if (answer.ok() || answer.status == 0) return End::normal;  // an end, a cut or a stall: resumed where it was
  complain("cannot watch", answer);
  return End::failed;
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
    end = says_gone(*object) ? End::gone : End::failed;
    ApiAnswer status;
    read_status(dump_json(*object), status);
    if (end == End::failed) complain("the server ended the watch of", status);
    return false;
  }
  if (const std::string version = version_of(*object); !version.empty()) version_ = version;
  if (type == "ADDED" || type == "MODIFIED") put(*object, nullptr);
  if (type == "DELETED") remove(object_key(*object));
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
  if (options_.on_put) options_.on_put(key, now);
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
  // The watch will find this version known and say nothing, and there may be more in it than we wrote. If it has told of a
  // newer one just now, that is told last.
  for (std::string told; now.json && told != now.resource_version; now = cache_.get(key)) {
    told = now.resource_version;
    options_.on_put(key, now);
  }
}

void Watch::remove(const std::string& key) {
  const CachedObject gone = cache_.get(key);
  if (!gone.json) return;
  cache_.erase(key);
  if (options_.on_delete) options_.on_delete(key, gone);
}

}  // namespace tacho
