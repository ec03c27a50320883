// BqAdapter of bigquery_schema.h: the intersection of our columns and a table's, and rows in that shape.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_bounds.h"
#include "base/text.h"
#include "net/google/bigquery_schema.h"
#include "net/http/json_text.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kExactInteger = int64_t{1} << 53;

struct Match {
  std::string ours, theirs;  // names; BigQuery's may be written in other cases
  BqType type = BqType::string;
  bool repeated = false, required = false, added = false;
  std::vector<Match> parts;  // of a record
};

// Whether a table's column of that type takes what we write for ours. The names of legacy and standard SQL mean the
// same.
bool takes(std::string_view theirs, BqType ours) {
  switch (ours) {
    case BqType::string: return theirs == "STRING";
    case BqType::integer:
      return theirs == "INTEGER" || theirs == "INT64" || theirs == "FLOAT" || theirs == "FLOAT64" ||
             theirs == "NUMERIC" || theirs == "BIGNUMERIC";
    case BqType::floating: return theirs == "FLOAT" || theirs == "FLOAT64";
    case BqType::boolean: return theirs == "BOOLEAN" || theirs == "BOOL";
    case BqType::timestamp: return theirs == "TIMESTAMP";
    case BqType::record: return theirs == "RECORD" || theirs == "STRUCT";
  }
  return false;
}

Json added_column(const BqField& field) {
  Json json{{"name", field.name},
            {"type", bq_type_name(field.type)},
            {"mode", field.mode == BqMode::repeated ? "REPEATED" : "NULLABLE"}};
  if (field.type == BqType::record) {
    json["fields"] = Json::array();
    for (const BqField& part : field.fields) json["fields"].push_back(added_column(part));
  }
  return json;
}

// The comparison of two field lists, at the top and within records.
class SchemaComparison {
 public:
  std::string blocked;
  std::vector<std::string> missing;
  bool can_add = false;

  // `list` becomes what a patch would send.
  std::vector<Match> compare(const std::vector<BqField>& ours, Json& list, const std::string& prefix) {
    std::vector<Match> matches;
    std::vector<const BqField*> absent;
    for (const BqField& field : ours) {
      Json* theirs = find(list, field.name);
      if (theirs == nullptr) {
        absent.push_back(&field);
        missing.push_back(prefix + field.name);
        can_add = true;
        continue;
      }
      if (auto match = pair(field, *theirs, prefix)) matches.push_back(std::move(*match));
    }
    for (const Json& theirs : list)
      if (lower(json_text(theirs, "mode")) == "required" && !is_ours(ours, json_text(theirs, "name")))
        block("its column " + prefix + json_text(theirs, "name") + " is REQUIRED, and tacho has no value for it");
    for (const BqField* field : absent) list.push_back(added_column(*field));
    return matches;
  }

 private:
  static Json* find(Json& list, const std::string& name) {
    for (Json& entry : list)
      if (lower(json_text(entry, "name")) == lower(name)) return &entry;
    return nullptr;
  }
  static bool is_ours(const std::vector<BqField>& ours, const std::string& name) {
    return std::any_of(ours.begin(), ours.end(),
                       [&](const BqField& field) { return lower(field.name) == lower(name); });
  }
  void block(std::string why) {
    if (blocked.empty()) blocked = std::move(why);
  }

  std::optional<Match> pair(const BqField& field, Json& theirs, const std::string& prefix) {
    std::string type = json_text(theirs, "type"), mode = json_text(theirs, "mode");
    for (std::string* word : {&type, &mode})
      std::transform(word->begin(), word->end(), word->begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    const bool repeated = mode == "REPEATED", required = mode == "REQUIRED";
    if (!takes(type, field.type) || repeated != (field.mode == BqMode::repeated)) {
      missing.push_back(prefix + field.name);
      if (required)
        block("its column " + prefix + field.name + " is REQUIRED with type " + type + ", and tacho writes " +
              std::string(bq_type_name(field.type)));
      return std::nullopt;
    }
    Match match{field.name, json_text(theirs, "name"), field.type, repeated, required, field.added, {}};
    if (field.type == BqType::record) {
      if (!theirs["fields"].is_array()) theirs["fields"] = Json::array();
      match.parts = compare(field.fields, theirs["fields"], prefix + field.name + ".");
    }
    return match;
  }
};

Json placeholder(BqType type) {
  switch (type) {
    case BqType::string: return "";
    case BqType::boolean: return false;
    case BqType::integer:
    case BqType::floating: return 0;
    default: return nullptr;
  }
}

Json row_of(const std::vector<Match>& columns, Json& row, bool with_added);

// Null when the value cannot be written into such a column. Takes the value apart: a row may have megabytes.
Json value_of(const Match& column, Json& value, bool with_added) {
  if (column.repeated) {
    if (!value.is_array() || (value.empty() && column.type != BqType::record)) return nullptr;
    Match single = column;
    single.repeated = false;
    for (Json& entry : value) {
      entry = value_of(single, entry, with_added);
      if (entry.is_null()) return nullptr;  // BigQuery refuses NULL within a list, and so the row
    }
    return std::move(value);
  }
  if (column.type == BqType::record) return value.is_object() ? row_of(column.parts, value, with_added) : Json(nullptr);
  if (value.is_structured()) return nullptr;
  if (value.is_number_integer()) {
    const bool exact = value.is_number_unsigned()
                           ? value.get<uint64_t>() <= static_cast<uint64_t>(kExactInteger)
                           : value.get<int64_t>() >= -kExactInteger && value.get<int64_t>() <= kExactInteger;
    if (!exact && column.type == BqType::integer) return value.dump();
  }
  return std::move(value);
}

Json row_of(const std::vector<Match>& columns, Json& row, bool with_added) {
  Json out = Json::object();
  for (const Match& column : columns) {
    if (column.added && !with_added && !column.required) continue;
    const auto found = row.find(column.ours);
    Json value = found == row.end() || found->is_null() ? Json(nullptr) : value_of(column, *found, with_added);
    if (value.is_null() && column.required) value = placeholder(column.type);
    if (!value.is_null()) out[column.theirs] = std::move(value);
  }
  return out;
}

}  // namespace

struct BqAdapter::Data {
  std::vector<Match> columns;
  SchemaComparison comparison;
  Json patched;
};

BqAdapter::BqAdapter() : data_(std::make_unique<Data>()) {}
BqAdapter::~BqAdapter() = default;
BqAdapter::BqAdapter(BqAdapter&&) noexcept = default;
BqAdapter& BqAdapter::operator=(BqAdapter&&) noexcept = default;

Result<BqAdapter> BqAdapter::make(const BqTableSpec& spec, const BqTableInfo& table) {
  BqAdapter adapter;
  adapter.data_->patched = parse_bounded<Json>(table.fields_json);
  if (!adapter.data_->patched.is_array())
    return Error{Code::io, "the schema of the table cannot be read", spec.table, "it is tried again"};
  adapter.data_->columns = adapter.data_->comparison.compare(spec.fields, adapter.data_->patched, "");
  return adapter;
}

const std::string& BqAdapter::blocked() const { return data_->comparison.blocked; }
const std::vector<std::string>& BqAdapter::missing() const { return data_->comparison.missing; }
bool BqAdapter::is_empty() const { return data_->columns.empty(); }
bool BqAdapter::can_add() const { return data_->comparison.can_add; }
std::string BqAdapter::patched_fields_json() const {
  return data_->patched.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> BqAdapter::adapt(std::string_view row_json, bool with_added) const {
  Json row = parse_bounded<Json>(row_json, kBqRowBounds);
  if (!row.is_object()) return Error{Code::invalid, "this row is no JSON object", "", ""};
  return row_of(data_->columns, row, with_added).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tacho
