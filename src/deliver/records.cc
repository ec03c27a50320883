#include "deliver/records.h"

#include "base/text.h"

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

bool flag_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::optional<SpoolOutcome> outcome_of(const Json& meta) {
  const auto found = meta.find("outcome");
  if (found == meta.end() || !found->is_object()) return std::nullopt;
  SpoolOutcome outcome{text_of(*found, "run_status"), std::nullopt, text_of(*found, "finished_at")};
  if (const auto code = found->find("exit_code"); code != found->end() && code->is_number_integer())
    outcome.exit_code = code->get<int>();
  return outcome;
}

}  // namespace

Result<SpoolMeta> parse_meta(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object())
    return Error{Code::invalid, "the description of a spooled run cannot be read", "meta.json",
                 "its rows are in the .csv files beside it"};
  SpoolMeta meta;
  meta.run = text_of(json, "run");
  meta.bigquery = text_of(json, "kind") == "bigquery";
  meta.api_url = text_of(json, "api_url");
  meta.bucket_uri = text_of(json, "bucket_uri");
  if (json.contains("s3_endpoint")) meta.s3_endpoint = text_of(json, "s3_endpoint");
  meta.data_source = text_of(json, "data_source");
  if (meta.data_source.empty()) meta.data_source = "inline";
  meta.store_folder = text_of(json, "store_folder");
  meta.header = text_of(json, "header");
  meta.no_cloud = flag_of(json, "no_cloud");
  meta.host_known = flag_of(json, "host_known");
  meta.host_id_settled = flag_of(json, "host_id_settled");
  if (const auto hidden = json.find("hidden"); hidden != json.end() && hidden->is_array())
    for (const Json& field : *hidden)
      if (field.is_string()) meta.hidden.push_back(field.get<std::string>());
  const auto start = json.find("start");
  meta.start = start != json.end() && start->is_object() ? *start : Json::object();
  meta.outcome = outcome_of(json);
  return meta;
}

SpoolState parse_spool_state(std::string_view text) {
  SpoolState state;
  const Json json = parse_json(text, kOwnBounds);
  if (!json.is_object()) return state;
  state.run_id = text_of(json, "run_id");
  state.prefix = text_of(json, "prefix");
  state.finished = text_of(json, "phase") == "finished";
  if (const auto uploaded = json.find("uploaded"); uploaded != json.end() && uploaded->is_object())
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
  json["run_id"] = state.run_id;
  json["prefix"] = state.prefix;
  json["sealed"] = sealed;
  json["uploaded"] = uploaded_of(state);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string state_json(const SpoolState& state) {
  const char* phase = state.finished ? "finished" : state.run_id.empty() ? "new" : "registered";
  const Json json{{"version", 1}, {"run_id", state.run_id}, {"prefix", state.prefix}, {"phase", phase},
                  {"uploaded", uploaded_of(state)}};
  return json.dump(2) + "\n";
}

}  // namespace tacho
