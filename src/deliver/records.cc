#include "deliver/records.h"

#include "base/text.h"
#include "spool/contract.h"

namespace tacho {

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

// What was spooled before there were kinds names an address only; a kind without its address is none.
std::string kind_of(const Json& json, const SpoolMeta& meta) {
  std::string kind = text_of(json, meta::kKind);
  if (kind.empty()) kind = !meta.bucket_uri.empty() ? kBucketKind : kServiceKind;
  if ((kind == kBucketKind && meta.bucket_uri.empty()) || (kind == kServiceKind && meta.api_url.empty())) return {};
  return kind;
}

}  // namespace

Result<SpoolMeta> parse_meta(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object())
    return Error{Code::invalid, "the description of a spooled run cannot be read", "meta.json",
                 "its rows are in the .csv files beside it"};
  SpoolMeta meta;
  meta.run = text_of(json, meta::kRun);
  meta.api_url = text_of(json, meta::kApiUrl);
  meta.bucket_uri = text_of(json, meta::kBucketUri);
  meta.kind = kind_of(json, meta);
  if (json.contains(meta::kS3Endpoint)) meta.s3_endpoint = text_of(json, meta::kS3Endpoint);
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
  meta.outcome = outcome_of(json);
  return meta;
}

SpoolState parse_spool_state(std::string_view text) {
  SpoolState state;
  const Json json = parse_json(text, kOwnBounds);
  if (!json.is_object()) return state;
  state.run_id = text_of(json, state::kRunId);
  state.prefix = text_of(json, state::kPrefix);
  state.finished = text_of(json, state::kPhase) == state::kPhaseFinished;
  if (const auto uploaded = json.find(state::kUploaded); uploaded != json.end() && uploaded->is_object())
    for (const auto& [number, uri] : uploaded->items())
      if (const auto parsed = parse_int<uint32_t>(number); parsed && uri.is_string())
        state.uploaded[*parsed] = uri.get<std::string>();
  return state;
}

namespace {

Json uploaded_of(const SpoolState& state) {
  Json uploaded = Json::object();
  for (const auto& [number, uri] : state.uploaded) uploaded[std::to_string(number)] = uri;
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
  const Json json{{state::kVersion, 1},
                  {state::kRunId, state.run_id},
                  {state::kPrefix, state.prefix},
                  {state::kPhase, phase},
                  {state::kUploaded, uploaded_of(state)}};
  return json.dump(2) + "\n";
}

}  // namespace tacho
