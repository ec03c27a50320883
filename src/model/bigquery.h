// BigQuery's words for a table and its columns, as constant data. The tables themselves stand where their rows are made
// (monitor/tables, cromwell/metadata_table.cc). Thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace tacho {

enum class BqType : uint8_t { string, integer, floating, boolean, timestamp, record };
enum class BqMode : uint8_t { nullable, required, repeated };

struct BqColumn {
  std::string_view name;
  BqType type;
  BqMode mode;
  bool added = false;                     // not in the original's table: may be left out at any time
  std::string_view text = {};             // what it is, for people
  std::span<const BqColumn> fields = {};  // of a record
};

struct BqTableData {
  std::string_view name;       // as the original calls it
  std::string_view partition;  // DAY partitions by this TIMESTAMP column, partition filter required
  std::span<const BqColumn> columns;
};

std::string_view bq_type_name(BqType type);  // STRING INTEGER FLOAT BOOLEAN TIMESTAMP RECORD
std::string_view bq_mode_name(BqMode mode);  // NULLABLE REQUIRED REPEATED

}  // namespace tacho
