#include "deliver/bq_meta.h"

#include "base/text.h"
#include "base/units.h"
#include "os/environment.h"
#include "spool/contract.h"
#include "spool/layout.h"

namespace tacho {
namespace {

const Json& member(const Json& object, std::string_view key) {
  static const Json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

Json object_of(const Json& object, std::string_view key) {
  const Json& found = member(object, key);
  return found.is_object() ? found : Json::object();
}

bool flag_of(const Json& object, std::string_view key) {
  const Json& found = member(object, key);
  return found.is_boolean() && found.get<bool>();
}

int64_t number_of(const Json& object, std::string_view key) {
  return parse_int<int64_t>(text_of(object, key)).value_or(0);
}

// How long added columns are not used yet; for a table whose streaming side is known to be quick, or slow.
int64_t column_wait_ms(int64_t usual_ms) {
  const auto wait_ns = parse_duration_ns(environment("TACHO_BQ_COLUMN_WAIT"));
  return wait_ns ? *wait_ns / kNsPerMs : usual_ms;
}

void read_destination(const Json& place, BqMeta& meta) {
  BqSettings& settings = meta.settings;
  settings.project = text_of(place, meta::kProject);
  settings.dataset = text_of(place, meta::kDataset);
  settings.endpoint = text_of(place, meta::kEndpoint);
  settings.location = text_of(place, meta::kLocation);
  settings.create = text_of(place, meta::kCreate) != meta::kCreateNever;
  settings.add_columns = flag_of(place, meta::kAddColumns);
  const int64_t rows = number_of(place, meta::kBatchRows);
  settings.rows_per_request = rows > 0 ? static_cast<size_t>(rows) : kBqRows;
  settings.column_wait_ms = column_wait_ms(settings.column_wait_ms);
  const Json tables = object_of(place, meta::kTables);
  meta.runtime_table = text_of(tables, meta::kRuntimeTable);
  meta.metrics_table = text_of(tables, meta::kMetricsTable);
  meta.samples_table = text_of(tables, meta::kSamplesTable);
  for (const std::string* table : {&meta.runtime_table, &meta.metrics_table, &meta.samples_table})
    if (table->find('/') != std::string::npos)
      meta.settings.dataset.clear();  // no name of a table, and one of a file soon
}

std::vector<std::string> scope_of(const Json& json, const Json& task) {
  std::vector<std::string> scope;
  if (const Json& parts = member(json, meta::kScope); parts.is_array()) {
    for (const Json& part : parts) scope.push_back(part.is_string() ? part.get<std::string>() : part.dump());
    return scope;
  }
  for (const char* name : {"workflow_id", "task_call_name", "shard", "attempt"}) scope.push_back(text_of(task, name));
  return scope;
}

}  // namespace

Result<BqMeta> parse_bq_meta(std::string_view text) {
  const Json json = parse_json(text);
  if (const Status good = check_record(json, kMetaName); !good) return good.error();
  BqMeta meta;
  meta.run = text_of(json, meta::kRun);
  meta.form = text_of(json, meta::kForm);
  read_destination(object_of(json, meta::kDestination), meta);
  const Json google = object_of(json, meta::kGoogle);
  meta.given = object_of(json, meta::kGiven);
  meta.fallback = object_of(json, meta::kFallback);
  meta.task = object_of(json, meta::kTask);
  meta.metrics = object_of(json, meta::kMetrics);
  meta.constant = object_of(json, meta::kConstant);
  meta.scope = scope_of(json, meta.task);
  meta.boot_id = text_of(json, meta::kBootId);
  meta.no_cloud = flag_of(google, meta::kNoCloud);
  if (!meta.samples_table.empty()) {
    auto fields = parse_bq_fields(member(json, meta::kColumns).dump());
    if (!fields) return fields.error();
    meta.samples = std::move(*fields);
  }
  return meta;
}

Result<BqState> parse_bq_state(std::string_view text) {
  BqState state;
  const Json json = parse_json(text, kOwnBounds);
  if (const Status good = check_record(json, kStateName); !good) return good.error();
  state.identity = member(json, state::kIdentity);
  state.project = text_of(json, state::kProject);
  state.reports = number_of(json, state::kReports);
  state.sent = number_of(json, state::kRowsSent);
  state.dropped = number_of(json, state::kRowsDropped);
  if (const Json& done = member(json, state::kDone); done.is_array())
    for (const Json& number : done)
      if (const auto known = parse_int<uint32_t>(number.dump())) state.done.insert(*known);
  if (const Json& partial = member(json, state::kPartial); partial.is_object())
    for (const auto& [number, entry] : partial.items()) {
      const auto key = parse_int<uint32_t>(number);
      const auto crc = parse_int<uint32_t>(text_of(entry, state::kCrc));
      if (key && crc) state.partial[*key] = {*crc, text_of(entry, state::kRows)};
    }
  if (const Json& repeat = member(json, state::kRepeat); repeat.is_array())
    for (const Json& row : repeat)
      state.repeat.push_back({0, text_of(row, state::kInsertId), text_of(row, state::kJson)});
  return state;
}

std::string bq_state_json(const BqState& state) {
  Json partial = Json::object(), repeat = Json::array();
  for (const auto& [number, entry] : state.partial)
    partial[std::to_string(number)] = {{state::kCrc, entry.crc}, {state::kRows, entry.rows}};
  for (const BqRow& row : state.repeat) repeat.push_back({{state::kInsertId, row.insert_id}, {state::kJson, row.json}});
  return Json{
             {state::kVersion, kSpoolFormat},  {state::kIdentity, state.identity}, {state::kProject, state.project},
             {state::kDone, state.done},       {state::kPartial, partial},         {state::kRepeat, repeat},
             {state::kReports, state.reports}, {state::kRowsSent, state.sent},     {state::kRowsDropped, state.dropped}}
             .dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string row_ranges(const std::vector<bool>& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]) continue;
    size_t last = i;
    while (last + 1 < rows.size() && rows[last + 1]) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(i);
    if (last > i) text.append("-").append(std::to_string(last));
    i = last;
  }
  return text;
}

void mark_rows(std::string_view ranges, std::vector<bool>& rows) {
  for (const std::string_view range : split(ranges, ',')) {
    const size_t dash = range.find('-');
    const auto first = parse_int<size_t>(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int<size_t>(range.substr(dash + 1));
    if (!first || !last) continue;
    for (size_t i = *first; i <= *last && i < rows.size(); ++i) rows[i] = true;
  }
}

}  // namespace tacho
