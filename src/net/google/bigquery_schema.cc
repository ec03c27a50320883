#include "net/google/bigquery_schema.h"

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "net/http/json_text.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kDay_s = 86'400, kDaysBack = 1825, kDaysAhead = 366;
constexpr auto kReplace = Json::error_handler_t::replace;

BqField field_of(const BqColumn& column) {
  BqField field{std::string(column.name), column.type, column.mode, column.added, {}};
  for (const BqColumn& part : column.fields) field.fields.push_back(field_of(part));
  return field;
}

Json json_of(const BqField& field) {
  Json json{{"name", field.name}, {"type", bq_type_name(field.type)}, {"mode", bq_mode_name(field.mode)}};
  if (field.type == BqType::record) {
    json["fields"] = Json::array();
    for (const BqField& part : field.fields) json["fields"].push_back(json_of(part));
  }
  return json;
}

Result<BqField> parse_field(const Json& json) {
  BqField field;
  field.name = json_text(json, "name");
  const std::string type = json_text(json, "type"), mode = json_text(json, "mode");
  bool known = false;
  for (int i = 0; i < 6; ++i)
    if (bq_type_name(static_cast<BqType>(i)) == type) field.type = static_cast<BqType>(i), known = true;
  if (field.name.empty() || !known)
    return Error{Code::invalid, "this column cannot be understood", field.name + " " + type, ""};
  field.mode = mode == "REQUIRED" ? BqMode::required : mode == "REPEATED" ? BqMode::repeated : BqMode::nullable;
  field.added = field.mode != BqMode::required;
  if (const auto parts = json.find("fields"); parts != json.end() && parts->is_array())
    for (const Json& part : *parts) {
      auto parsed = parse_field(part);
      if (!parsed) return parsed.error();
      field.fields.push_back(std::move(*parsed));
    }
  return field;
}

// The largest member that may be cut: a text, or a list of records.
Json* largest_to_cut(Json& row, size_t& bytes) {
  Json* largest = nullptr;
  bytes = 0;
  for (auto& [name, value] : row.items()) {
    const bool list = value.is_array() && value.size() > 1 && value[0].is_object();
    if (!list && !value.is_string()) continue;
    const size_t size = list ? value.dump(-1, ' ', false, kReplace).size() : value.get_ref<const std::string&>().size();
    if (size > bytes) largest = &value, bytes = size;
  }
  return largest;
}

}  // namespace

BqTableSpec bq_table_spec(const BqTableData& data, std::string table_id) {
  BqTableSpec spec{table_id.empty() ? std::string(data.name) : std::move(table_id), std::string(data.partition), {}};
  for (const BqColumn& column : data.columns) spec.fields.push_back(field_of(column));
  return spec;
}

std::string bq_fields_json(const std::vector<BqField>& fields) {
  Json list = Json::array();
  for (const BqField& field : fields) list.push_back(json_of(field));
  return list.dump();
}

Result<std::vector<BqField>> parse_bq_fields(std::string_view json) {
  const Json list = parse_bounded<Json>(json);
  if (!list.is_array()) return Error{Code::invalid, "this is no list of columns", "", ""};
  std::vector<BqField> fields;
  for (const Json& entry : list) {
    auto field = parse_field(entry);
    if (!field) return field.error();
    fields.push_back(std::move(*field));
  }
  return fields;
}

// {"etag":"…","schema":{"fields":[…]},"timePartitioning":{"type":"DAY","field":"start_time",
//  "requirePartitionFilter":true},"requirePartitionFilter":true}
Result<BqTableInfo> parse_bq_table(std::string_view body) {
  const Json json = parse_bounded<Json>(body);
  if (!json.is_object()) return Error{Code::io, "the description of the table cannot be read", "", "it is tried again"};
  BqTableInfo info;
  info.etag = json_text(json, "etag");
  const auto schema = json.find("schema");
  const auto fields = schema != json.end() && schema->is_object() ? schema->find("fields") : json.end();
  info.fields_json = schema != json.end() && schema->is_object() && fields != schema->end() && fields->is_array()
                         ? fields->dump(-1, ' ', false, kReplace)
                         : "[]";
  const auto flag = [](const Json& object) {
    const auto found = object.find("requirePartitionFilter");
    return found != object.end() && found->is_boolean() && found->get<bool>();
  };
  info.filter_required = flag(json);
  if (const auto partitioning = json.find("timePartitioning");
      partitioning != json.end() && partitioning->is_object()) {
    info.partition = json_text(*partitioning, "field");
    info.filter_required = info.filter_required || flag(*partitioning);
  }
  return info;
}

bool trim_bq_row(std::string& row_json, size_t limit) {
  Json row = parse_bounded<Json>(row_json, kBqRowBounds);
  if (!row.is_object()) return false;
  bool cut_list = false;
  while (row_json.size() > limit) {
    size_t bytes = 0;
    Json* value = largest_to_cut(row, bytes);
    if (value == nullptr || bytes < 64) return false;
    if (value->is_array()) {
      value->erase(value->begin() + static_cast<std::ptrdiff_t>(value->size() / 2), value->end());
      cut_list = true;
    } else {
      const std::string& text = value->get_ref<const std::string&>();
      *value = std::string(start_of(text, text.size() / 2));
    }
    if (cut_list && row.contains("inputs")) row["inputs_truncated"] = true;
    row_json = row.dump(-1, ' ', false, kReplace);
  }
  return true;
}

bool in_partition_bounds(std::string_view row_json, std::string_view partition, int64_t now_s) {
  if (partition.empty()) return true;
  const std::string key = std::string("\"").append(partition).append("\":\"");
  const size_t at = row_json.find(key);
  if (at == std::string_view::npos) return true;
  const std::string_view rest = row_json.substr(at + key.size());
  const auto time_ns = parse_iso_date_ns(rest.substr(0, rest.find('"')));
  if (!time_ns) return true;
  return in_partition_bounds(*time_ns, now_s * kNsPerSec);
}

bool in_partition_bounds(int64_t time_ns, int64_t now_ns) {
  const int64_t day = time_ns / kNsPerSec / kDay_s, today = now_ns / kNsPerSec / kDay_s;
  return day >= today - kDaysBack && day <= today + kDaysAhead;
}

}  // namespace tacho
