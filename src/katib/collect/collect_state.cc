#include "katib/collect/collect_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_bounds.h"
#include "base/log.h"
#include "katib/collect/shared_file.h"

namespace tacho {
namespace {

using Json = nlohmann::json;
constexpr int kVersion = 1;
// The trainer may have put it there, and a tree takes many times its text. Three positions of 20,000 event files fit.
constexpr JsonBounds kBounds{.bytes = 16u << 20, .depth = 32, .values = 600'000};
// One log or scraped program has one position: this is room for 4,000 metrics and the arrival times of a whole chunk.
constexpr JsonBounds kSmallBounds{.bytes = 4u << 20, .depth = 32, .values = 40'000};

// Three positions name every file, each with nine values at the most.
JsonBounds bounds_for(size_t event_bytes) {
  JsonBounds out = kSmallBounds;
  out.bytes = std::min(kBounds.bytes, out.bytes + 3 * std::min(event_bytes, kBounds.bytes));
  out.values = std::min(kBounds.values, out.values + 27 * std::min(event_bytes, kBounds.bytes) / kEventEntryBytes);
  return out;
}

// Behind the string or the other value that begins here. The text is JSON, and ends behind it.
size_t end_of_value(std::string_view text, size_t at) {
  int depth = 0;
  for (bool quoted = false; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      else if (c == '"') quoted = false;
      if (quoted || depth > 0) continue;
      return at + 1;
    }
    if (c == '"') quoted = true;
    else if (c == '{' || c == '[') ++depth;
    else if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'))
      return at;
    else if ((c == '}' || c == ']') && --depth == 0) return at + 1;
  }
  return at;
}

// The members of an object, each value as it stands there: no tree is made of what is only passed on. Throws where it
// is no object.
template <class Visit>
void for_each_member(std::string_view object, const Visit& visit) {
  const auto behind_space = [&](size_t at) { return std::min(object.find_first_not_of(" \n\t\r", at), object.size()); };
  size_t at = behind_space(0);
  if (at == object.size() || object[at] != '{') throw Json::other_error::create(501, "no object", nullptr);
  for (at = behind_space(at + 1); at < object.size() && object[at] == '"'; at = behind_space(at)) {
    const size_t key_end = end_of_value(object, at);
    const std::string key = Json::parse(object.substr(at, key_end - at)).get<std::string>();
    at = behind_space(behind_space(key_end) + 1);  // the colon
    const size_t end = end_of_value(object, at);
    visit(key, object.substr(at, end - at));
    at = behind_space(end);
    if (at < object.size() && object[at] == ',') at = behind_space(at + 1);
  }
}

// Readers keep JSON; what is none is kept as a text, and "" as null.
Json embedded(const std::string& text) {
  if (text.empty()) return nullptr;
  Json json = parse_bounded<Json>(text, kBounds);
  return json.is_discarded() ? Json(text) : json;
}
std::string extracted(std::string_view json) {
  if (json == "null") return "";
  return json.starts_with('"') ? Json::parse(json).get<std::string>() : std::string(json);
}

// A tree of something small.
Json small_tree(std::string_view text) {
  Json json = parse_bounded<Json>(text, kSmallBounds);
  if (json.is_discarded()) throw Json::other_error::create(501, "more than can be", nullptr);
  return json;
}

Json to_json(const PendingChunk& pending) {
  Json runs = Json::array();
  for (const ArrivalRun& run : pending.arrivals) runs.push_back({run.rows, run.time_us});
  return {{"stream", pending.stream},   {"to", embedded(pending.to)}, {"rows", pending.rows},
          {"at_end", pending.at_end},   {"arrivals", runs},           {"done", pending.done},
          {"sending", pending.sending}, {"skipped", pending.skipped}, {"id", pending.id}};
}

PendingChunk pending_from(std::string_view text) {
  PendingChunk out;
  Json json = Json::object();
  for_each_member(text, [&](const std::string& key, std::string_view value) {
    if (key == "to") out.to = extracted(value);
    else if (json.size() < 16) json[key] = small_tree(value);
  });
  out.stream = json.at("stream").get<std::string>();
  out.rows = json.at("rows").get<int64_t>();
  out.at_end = json.at("at_end").get<bool>();
  for (const Json& run : json.at("arrivals"))
    out.arrivals.push_back({run.at(0).get<int64_t>(), run.at(1).get<int64_t>()});
  out.done = json.at("done").get<int64_t>();
  out.sending = json.at("sending").get<int64_t>();
  out.skipped = json.value("skipped", std::vector<int64_t>());
  out.id = json.value("id", "");
  // Whoever shares the folder may have written it.
  const auto sane = [](int64_t count) { return count >= 0 && count <= PendingChunk::kMost; };
  bool good = sane(out.rows) && sane(out.done) && sane(out.sending) && out.skipped.size() <= PendingChunk::kMost &&
              out.arrivals.size() <= PendingChunk::kMost && out.id.size() <= 64 &&
              std::all_of(out.id.begin(), out.id.end(), [](char c) { return c > ' ' && c <= '~'; });
  for (const ArrivalRun& run : out.arrivals) good = good && sane(run.rows);
  for (const int64_t number : out.skipped) good = good && sane(number);
  if (!good) throw Json::other_error::create(501, "a chunk that cannot be", &json);
  return out;
}

void take_streams(std::string_view text, CollectState& out) {
  constexpr size_t kMostStreams = 16;  // there are two
  for_each_member(text, [&](const std::string& name, std::string_view stream) {
    if (out.streams.size() >= kMostStreams) throw Json::other_error::create(501, "too many streams", nullptr);
    StreamProgress& progress = out.streams[name];
    bool has_position = false;
    for_each_member(stream, [&](const std::string& key, std::string_view value) {
      if (key == "position") progress.position = extracted(value), has_position = true;
    });
    if (!has_position) throw Json::other_error::create(501, "half a stream", nullptr);
  });
}

void take_small(std::string_view key, const Json& value, CollectState& out) {
  if (key == "version" && value != kVersion) throw Json::other_error::create(501, "another version", nullptr);
  if (key == "trial") out.trial = value.get<std::string>();
  if (key == "kind") out.kind = value.get<std::string>();
  if (key == "objective_seen") out.objective_seen = value.get<bool>();
  if (key == "stopped") out.stopped = value.get<bool>();
  if (key == "acknowledged")
    for (const auto& [name, count] : value.items()) out.acknowledged[name] = count.get<int64_t>();
  if (key == "digests")
    for (const auto& [name, text] : value.items())
      if (const auto digest = RowDigest::parse(text.get<std::string>())) out.digests[name] = *digest;
  if (key == "times")
    for (const auto& [name, last] : value.items())
      out.times[name] = {last.at(0).get<int64_t>(), last.at(1).get<int64_t>()};
}

CollectState state_from(std::string_view text) {
  CollectState out;
  std::set<std::string, std::less<>> missing{"version", "trial",   "kind",         "watch", "rules",         "scrape",
                                             "stopped", "streams", "acknowledged", "times", "objective_seen"};
  for_each_member(text, [&](const std::string& key, std::string_view value) {
    missing.erase(key);
    if (key == "watch") out.watch_position = extracted(value);
    else if (key == "rules") out.rules = extracted(value);
    else if (key == "scrape") out.scrape = extracted(value);
    else if (key == "pending") out.pending = pending_from(value);
    else if (key == "streams") take_streams(value, out);
    else take_small(key, small_tree(value), out);
  });
  if (!missing.empty()) throw Json::other_error::create(501, "without " + *missing.begin(), nullptr);
  return out;
}

}  // namespace

std::string format_state(const CollectState& state) {
  Json json{{"version", kVersion},
            {"trial", state.trial},
            {"kind", state.kind},
            {"watch", embedded(state.watch_position)},
            {"rules", embedded(state.rules)},
            {"scrape", embedded(state.scrape)},
            {"objective_seen", state.objective_seen},
            {"stopped", state.stopped},
            {"streams", Json::object()},
            {"acknowledged", Json::object()},
            {"digests", Json::object()},
            {"times", Json::object()}};
  for (const auto& [name, progress] : state.streams)
    json["streams"][name] = {{"position", embedded(progress.position)}};
  for (const auto& [name, count] : state.acknowledged) json["acknowledged"][name] = count;
  for (const auto& [name, digest] : state.digests) json["digests"][name] = digest.text();
  for (const auto& [name, last] : state.times) json["times"][name] = {last.given_us, last.reported_us};
  if (state.pending) json["pending"] = to_json(*state.pending);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<CollectState> parse_collect_state(std::string_view text, size_t event_bytes) {
  const JsonBounds bounds = bounds_for(event_bytes);
  if (const JsonExcess excess = json_excess(text, bounds); excess != JsonExcess::none)
    return Error{Code::invalid, "not a state: " + std::string(json_excess_text(excess)), "", ""};
  if (text.find('\0') != std::string_view::npos || !Json::accept(text))
    return Error{Code::invalid, "not a state of this version", "", ""};
  try {
    return state_from(text);
  } catch (const Json::exception& fault) {
    return Error{Code::invalid, std::string("damaged: ") + fault.what(), "", ""};
  }
}

std::optional<CollectState> StateFile::load(std::string_view trial, std::string_view kind, size_t event_bytes) const {
  if (path_.empty()) return std::nullopt;
  const auto text = read_shared_file(path_, bounds_for(event_bytes).bytes);
  if (!text) {
    if (text.error().code == Code::invalid)
      log::warn("the state file is not used: " + text.error().message() + "; rows may be reported twice");
    return std::nullopt;
  }
  auto state = parse_collect_state(*text, event_bytes);
  if (!state) {
    log::warn("the state file " + path_ + " is not used (" + state.error().message() + "); rows may be reported twice");
    return std::nullopt;
  }
  if (state->trial != trial || state->kind != kind) {
    log::warn("the state file " + path_ + " is of Trial " + state->trial + " (" + state->kind + ") and is not used");
    return std::nullopt;
  }
  return *state;
}

void StateFile::save(const CollectState& state) {
  if (path_.empty()) return;
  std::string text = format_state(state);
  if (text == last_text_) return;
  const Status status = replace_shared_file(path_, text, 0644, true);
  if (!status) {
    log::warn("the state is not kept: " + status.error().message() + "; after a restart rows may be reported twice");
    return;
  }
  last_text_ = std::move(text);
}

}  // namespace tacho
