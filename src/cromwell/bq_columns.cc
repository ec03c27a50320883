#include "cromwell/bq_columns.h"

#include "cromwell/metadata_table.h"
#include "monitor/tables/rows.h"

namespace tacho {
namespace {

constexpr std::string_view kIntroduction =
    "# Columns of the BigQuery tables\n\n"
    "Made by `tacho bq columns`; do not edit. `runtime` and `metrics` are written by `tacho monitor`, `metadata` by\n"
    "`tacho cromwell`. GB is 10⁹ bytes unless GiB is written. Unknown is NULL or an empty list, never 0; a REQUIRED\n"
    "column gets a placeholder (`\"\"`, `false`, 0). Columns that a + marks are tacho's own: a table may lack them.\n";

void put_columns(std::string& out, const std::string& before, std::span<const BqColumn> columns) {
  for (const BqColumn& column : columns) {
    const std::string name = before + std::string(column.name);
    out.append("| `").append(name).append("` | ").append(bq_type_name(column.type)).append(" | ");
    out.append(column.mode == BqMode::nullable ? std::string_view() : bq_mode_name(column.mode));
    out.append(column.mode == BqMode::nullable ? "" : " ").append(column.added ? "| + | " : "| | ");
    out.append(column.text).append(" |\n");
    put_columns(out, name + ".", column.fields);
  }
}

}  // namespace

std::string bq_columns_document() {
  std::string out(kIntroduction);
  for (const BqTableData* table : {&kBqRuntime, &kBqMetrics, &kBqMetadata}) {
    out.append("\n## `").append(table->name).append("`\nPartitioned by day on `").append(table->partition);
    out.append("`; a query must name a time.\n\n| column | type | mode | | meaning |\n|---|---|---|---|---|\n");
    put_columns(out, "", table->columns);
  }
  return out;
}

}  // namespace tacho
