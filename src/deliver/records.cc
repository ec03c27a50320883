#include "deliver/records.h"

#include "base/text.h"
#include "spool/contract.h"
#include "spool/layout.h"

namespace tacho {
namespace {

// Finds a member of a large object at once; Json keeps their order instead.
using Plain = nlohmann::json;

}  // namespace

template <class AnyJson>
Status check_record(const AnyJson& json, std::string_view name) {
  if (!json.is_object())
    return Error{Code::invalid, "this file of a spooled run cannot be read", std::string(name), "is it damaged?"};
  const auto version = json.find(state::kVersion);
  if (version == json.end() || !version->is_number() || version->template get<double>() <= kSpoolFormat) return ok();
  return Error{Code::denied, "a newer tacho made this run", std::string(name), "send it with that one"};
}
template Status check_record(const Json&, std::string_view);
template Status check_record(const nlohmann::json&, std::string_view);

Json parse_json(std::string_view text, const JsonBounds& bounds) { return parse_bounded<Json>(text, bounds); }

std::string text_of(const Json& object, std::string_view key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? found->dump() : std::string{};
}

namespace {

bool flag_in(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::optional<SpoolOutcome> outcome_of(const Json& meta) {
  const auto found = meta.find(meta::kOutcome);
  if (found == meta.end() || !found->is_object()) return std::nullopt;
  SpoolOutcome outcome{text_of(*found, meta::kRunStatus), std::nullopt, text_of(*found, meta::kFinishedAt)};
  if (const auto code = found->find(meta::kExitCode); code != found->end() && code->is_number_integer())
    outcome.exit_code = code->get<int>();
  return outcome;
}

// What was spooled before there were kinds names an address only. A kind without its address is none, and neither is a
// bucket for a run without a name: its objects would have the names of everybody's.
std::string kind_of(std::string kind, const SpoolMeta& meta) {
  if (kind.empty()) kind = !meta.bucket_uri.empty() ? kBucketKind : kServiceKind;
  if (kind == kBucketKind && (meta.bucket_uri.empty() || meta.run.empty())) return {};
  return kind == kServiceKind && meta.api_url.empty() ? std::string() : kind;
}

// How far a run came that was left is in its meta.json for people only: of one that took months that would be most of
// it.
Json parse_description(std::string_view text) {
  if (json_excess(text, kOwnBounds) != JsonExcess::none || text.find('\0') != std::string_view::npos)
    return Json(Json::value_t::discarded);
  const auto keep = [](int depth, Plain::parse_event_t event, const Plain& name) {
    return event != Plain::parse_event_t::key || depth > 1 || (name != state::kUploaded && name != state::kSealed);
  };
  const Plain kept = Plain::parse(text, keep, false);
  return kept.is_object() ? parse_json(kept.dump(-1, ' ', false, Plain::error_handler_t::replace))
                          : Json(Json::value_t::discarded);
}

}  // namespace

Result<SpoolMeta> parse_meta(std::string_view text) {
  const Json json = parse_description(text);
  if (const Status good = check_record(json, kMetaName); !good) return good.error();
  SpoolMeta meta;
  meta.run = text_of(json, meta::kRun);
  meta.api_url = text_of(json, meta::kApiUrl);
  meta.bucket_uri = text_of(json, meta::kBucketUri);
  meta.kind = kind_of(text_of(json, meta::kKind), meta);
  if (json.contains(meta::kS3Endpoint)) meta.s3_endpoint = text_of(json, meta::kS3Endpoint);
  if (const auto place = json.find(meta::kDestination); place != json.end() && place->is_object())
    if (place->contains(meta::kEndpoint)) meta.bq_endpoint = text_of(*place, meta::kEndpoint);
  meta.data_source = text_of(json, meta::kDataSource);
  if (meta.data_source.empty()) meta.data_source = "inline";
  meta.store_folder = text_of(json, meta::kStoreFolder);
  meta.header = text_of(json, meta::kHeader);
  meta.no_cloud = flag_in(json, meta::kNoCloud);
  meta.host_known = flag_in(json, meta::kHostKnown);
  meta.host_id_settled = flag_in(json, meta::kHostIdSettled);
  if (const auto hidden = json.find(meta::kHidden); hidden != json.end() && hidden->is_array())
    for (const Json& field : *hidden)
      if (field.is_string()) meta.hidden.push_back(field.get<std::string>());
  const auto start = json.find(meta::kStart);
  meta.start = start != json.end() && start->is_object() ? *start : Json::object();
  if (const auto series = json.find(meta::kSeries); series != json.end()) meta.series = *series;
  meta.outcome = outcome_of(json);
  return meta;
}

Result<SpoolState> parse_spool_state(std::string_view text) {
  const Plain json = parse_bounded<Plain>(text, kOwnBounds);
  if (const Status good = check_record(json, kStateName); !good) return good.error();
  const auto word = [&](std::string_view key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  SpoolState state;
  state.run_id = word(state::kRunId);
  state.prefix = word(state::kPrefix);
  state.finished = word(state::kPhase) == state::kPhaseFinished;
  if (const auto uploaded = json.find(state::kUploaded); uploaded != json.end() && uploaded->is_object())
    for (const auto& [number, uri] : uploaded->items())
      if (const auto parsed = parse_int<uint32_t>(number); parsed && uri.is_string())
        state.uploaded[*parsed] = uri.get<std::string>();
  return state;
}

namespace {

// Appended without looking whether the number is there already: for a run of months that would take seconds a batch.
Json uploaded_of(const SpoolState& state) {
  Json::object_t uploaded;
  for (const auto& [number, uri] : state.uploaded) uploaded.Container::emplace_back(std::to_string(number), uri);
  return uploaded;
}

}  // namespace

std::string meta_with_state(std::string_view meta, const SpoolState& state, const std::vector<uint32_t>& sealed) {
  Json json = parse_json(meta, kOwnBounds);
  if (!json.is_object()) return {};
  json[state::kRunId] = state.run_id;
  json[state::kPrefix] = state.prefix;
  json[state::kSealed] = sealed;
  json[state::kUploaded] = uploaded_of(state);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string state_json(const SpoolState& state) {
  const std::string_view phase = state.finished         ? state::kPhaseFinished
                                 : state.run_id.empty() ? state::kPhaseNew
                                                        : state::kPhaseRegistered;
  const Json json{{state::kVersion, kSpoolFormat},
                  {state::kRunId, state.run_id},
                  {state::kPrefix, state.prefix},
                  {state::kPhase, phase},
                  {state::kUploaded, uploaded_of(state)}};
  return json.dump(2) + "\n";
}

}  // namespace tacho
