#include "katib/collect/collect_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/log.h"
#include "katib/collect/shared_file.h"
#include "katib/model/collector_kinds.h"

namespace tacho {
namespace {

using Json = nlohmann::json;
constexpr int kVersion = 1;
// The trainer may have put it there, and a tree takes many times its text. Three positions of 20,000 event files fit.
constexpr JsonBounds kBounds{.bytes = 16u << 20, .depth = 32, .values = 600'000};
// One log or scraped program has one position: this is room for 4,000 metrics and the arrival times of a whole chunk.
constexpr JsonBounds kSmallBounds{.bytes = 4u << 20, .depth = 32, .values = 40'000};

const JsonBounds& bounds_of(std::string_view kind) {
  const CollectorKind* known = find_collector_kind(kind);
  return known != nullptr && known->source == CollectorKind::Source::event_files ? kBounds : kSmallBounds;
}

// Readers keep JSON; what is none is kept as a text, and "" as null.
Json embedded(const std::string& text) {
  if (text.empty()) return nullptr;
  Json json = parse_bounded<Json>(text, kBounds);
  return json.is_discarded() ? Json(text) : json;
}
std::string extracted(const Json& json) {
  if (json.is_null()) return "";
  return json.is_string() ? json.get<std::string>() : json.dump();
}

Json to_json(const PendingChunk& pending) {
  Json runs = Json::array();
  for (const ArrivalRun& run : pending.arrivals) runs.push_back({run.rows, run.time_us});
  return {{"stream", pending.stream},   {"to", embedded(pending.to)}, {"rows", pending.rows},
          {"at_end", pending.at_end},   {"arrivals", runs},           {"done", pending.done},
          {"sending", pending.sending}, {"skipped", pending.skipped}, {"id", pending.id}};
}

PendingChunk pending_from(const Json& json) {
  PendingChunk out;
  out.stream = json.at("stream").get<std::string>();
  out.to = extracted(json.at("to"));
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
    json["streams"][name] = {{"position", embedded(progress.position)}, {"rows", progress.rows}};
  for (const auto& [name, count] : state.acknowledged) json["acknowledged"][name] = count;
  for (const auto& [name, digest] : state.digests) json["digests"][name] = digest.text();
  for (const auto& [name, last] : state.times) json["times"][name] = {last.given_us, last.reported_us};
  if (state.pending) json["pending"] = to_json(*state.pending);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<CollectState> parse_collect_state(std::string_view text, std::string_view kind) {
  const JsonBounds& bounds = bounds_of(kind);
  if (const JsonExcess excess = json_excess(text, bounds); excess != JsonExcess::none)
    return Error{Code::invalid, "not a state: " + std::string(json_excess_text(excess)), "", ""};
  const Json json = parse_bounded<Json>(text, bounds);
  if (!json.is_object() || json.value("version", Json()) != kVersion)
    return Error{Code::invalid, "not a state of this version", "", ""};
  try {
    CollectState out;
    out.trial = json.at("trial").get<std::string>();
    out.kind = json.at("kind").get<std::string>();
    out.watch_position = extracted(json.at("watch"));
    out.rules = extracted(json.at("rules"));
    out.scrape = extracted(json.at("scrape"));
    out.objective_seen = json.at("objective_seen").get<bool>();
    out.stopped = json.at("stopped").get<bool>();
    for (const auto& [name, stream] : json.at("streams").items())
      out.streams[name] = {extracted(stream.at("position")), stream.at("rows").get<int64_t>()};
    for (const auto& [name, count] : json.at("acknowledged").items()) out.acknowledged[name] = count.get<int64_t>();
    if (json.contains("digests"))
      for (const auto& [name, text] : json.at("digests").items())
        if (const auto digest = RowDigest::parse(text.get<std::string>())) out.digests[name] = *digest;
    for (const auto& [name, last] : json.at("times").items())
      out.times[name] = {last.at(0).get<int64_t>(), last.at(1).get<int64_t>()};
    if (json.contains("pending")) out.pending = pending_from(json.at("pending"));
    return out;
  } catch (const Json::exception& fault) {
    return Error{Code::invalid, std::string("damaged: ") + fault.what(), "", ""};
  }
}

std::optional<CollectState> StateFile::load(std::string_view trial, std::string_view kind) const {
  if (path_.empty()) return std::nullopt;
  const auto text = read_shared_file(path_, bounds_of(kind).bytes);
  if (!text) {
    if (text.error().code == Code::invalid)
      log::warn("the state file is not used: " + text.error().message() + "; rows may be reported twice");
    return std::nullopt;
  }
  auto state = parse_collect_state(*text, kind);
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
