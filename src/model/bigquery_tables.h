// The BigQuery tables of the Cromwell task monitor and the metadata uploader as data (cromwell-bigquery.md §1.5, §1.6,
// §1.9, §3.8): the columns that the original tool has, in its order, then those that tacho adds. All who make, patch,
// fill or print these tables read them here. Constant data; thread-safe.
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
  std::span<const BqColumn> fields = {};  // of a record
};

struct BqTableData {
  std::string_view name;       // as the original calls it
  std::string_view partition;  // DAY partitions by this TIMESTAMP column, partition filter required
  std::span<const BqColumn> columns;
};

extern const BqTableData kBqRuntime, kBqMetrics, kBqMetadata;
// One of the three by its name; null when there is no such table.
const BqTableData* find_bq_table(std::string_view name);

std::string_view bq_type_name(BqType type);  // STRING INTEGER FLOAT BOOLEAN TIMESTAMP RECORD
std::string_view bq_mode_name(BqMode mode);  // NULLABLE REQUIRED REPEATED

}  // namespace tacho
