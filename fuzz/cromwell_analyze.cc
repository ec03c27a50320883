// Rows of the three tables, as lines of an export and as a page over REST, and what is made of them.
#include <cmath>

#include "base/text.h"
#include "cromwell/analyze_attempts.h"
#include "cromwell/analyze_bigquery.h"
#include "cromwell/analyze_row.h"
#include "target.h"

namespace {

using namespace tacho;

template <class Row>
void read_lines(std::string_view text, AttemptTable& table) {
  ExportLineReader reader;
  Row row;
  for (const std::string_view line : split(text, '\n')) {
    row.clear();
    const bool good = static_cast<bool>(reader.read(line, row));
    if constexpr (requires { row.finish(); }) row.finish();
    if (!good || !row.lacks().empty()) continue;
    if constexpr (requires { table.add(row); }) table.add(row);
    else (void)table.owner_of(row);
  }
}

}  // namespace

void fuzz_one(std::string_view text) {
  AttemptTable table("", 4);
  read_lines<CallRow>(text, table);
  read_lines<RuntimeRow>(text, table);
  table.close();
  read_lines<MetricsRow>(text, table);
  require(table.attempts().size() <= 4);
  for (const CallAttempt& attempt : table.attempts()) {
    require(attempt.disks.size() <= 64);
    require(!(attempt.input_gb < 0) && !(attempt.cpus < 0) && !(attempt.memory_gb < 0));
  }
  MetricsRow row;
  size_t rows = 0;
  PageReader page({{"timestamp", {}}, {"cpu_used_percent", {}}, {"inputs", {"key", "type", "value"}}});
  (void)page.read(text, row, [&] { ++rows; });
  require(rows <= text.size());
  (void)parse_bq_place(text);
  const TableCell cell{JsonReader::Token::string, text};
  if (const auto number = cell.number()) require(std::isfinite(*number));
  (void)cell.integer(), (void)cell.time_us(), (void)cell.flag();
}
