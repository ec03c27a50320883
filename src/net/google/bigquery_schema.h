// Schemas: what a table has, what we would write, and how a row of ours becomes a row that the table takes
// (cromwell-bigquery.md §1.10). Pure; thread-safe.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_bounds.h"
#include "base/result.h"
#include "model/bigquery.h"

namespace tacho {

// Rows are our own, and are cut where they are too large for a request: a long list of inputs must not be lost earlier.
inline constexpr JsonBounds kBqRowBounds{64u << 20, 64, 4'000'000};

struct BqField {
  std::string name;
  BqType type = BqType::string;
  BqMode mode = BqMode::nullable;
  bool added = false;           // ours, not the original's
  std::vector<BqField> fields;  // of a record
};

// The table that we would make, and the columns that we fill.
struct BqTableSpec {
  std::string table;      // its id
  std::string partition;  // TIMESTAMP column; empty: not partitioned
  std::vector<BqField> fields;
};
BqTableSpec bq_table_spec(const BqTableData& data, std::string table_id = {});
// [{"name":"zone","type":"STRING","mode":"REQUIRED"},…] with "fields" for records.
std::string bq_fields_json(const std::vector<BqField>& fields);
Result<std::vector<BqField>> parse_bq_fields(std::string_view json);

// A table as tables.get tells it.
struct BqTableInfo {
  std::string etag;
  std::string fields_json;       // verbatim, for a patch
  std::string partition;         // empty: none
  bool filter_required = false;  // in either place
};
Result<BqTableInfo> parse_bq_table(std::string_view body);

// How rows of a spec are written into a table.
class BqAdapter {
 public:
  BqAdapter();
  ~BqAdapter();
  BqAdapter(BqAdapter&&) noexcept;
  BqAdapter& operator=(BqAdapter&&) noexcept;
  static Result<BqAdapter> make(const BqTableSpec& spec, const BqTableInfo& table);

  // Why no row can be written at all; empty when rows can be.
  const std::string& blocked() const;
  // Columns of the spec that the table lacks or has with another type, "inputs.size_bytes" for a nested one.
  const std::vector<std::string>& missing() const;
  // No column in common: rows would be empty, and BigQuery might take them.
  bool is_empty() const;
  // Those that a patch can add: the table lacks them altogether.
  bool can_add() const;
  // The complete field list for a patch: the table's own verbatim and in order, ours appended.
  std::string patched_fields_json() const;

  // A row for this table; row_json has our columns. REQUIRED columns without a value get placeholders. with_added=false
  // leaves out columns that the original does not have. invalid: the text is no JSON object.
  Result<std::string> adapt(std::string_view row_json, bool with_added = true) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

// Shortens a row below `limit` bytes by cutting its largest texts and lists of records; false when that does not help.
bool trim_bq_row(std::string& row_json, size_t limit);
// Whether a row's partition column lies in the range that insertAll takes: 1825 days back, 366 days ahead.
bool in_partition_bounds(std::string_view row_json, std::string_view partition, int64_t now_s);
bool in_partition_bounds(int64_t time_ns, int64_t now_ns);  // of the time itself

}  // namespace tacho
