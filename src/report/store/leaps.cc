#include "report/store/leaps.h"

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "report/store/csv_reader.h"

namespace tacho {
namespace {

constexpr int64_t kMatters_ns = kNsPerSec;  // a late tick is none

struct LongRow {
  int64_t interval_ns, index;
};

}  // namespace

Leaps::Leaps(const std::string& rows_path, const Run& run, int64_t rows_known) {
  CsvReader reader;
  const Outcome& outcome = run.outcome;
  const int64_t finished_ns = outcome.finished_realtime_ns;
  const bool none = finished_ns > 0 && finished_ns - outcome.started_realtime_ns - outcome.duration_ns < kMatters_ns;
  if (none || outcome.duration_ns <= 0 || !reader.open(rows_path)) return;
  if (outcome.started_realtime_ns > 0) reader.set_start(seconds_by_ms(outcome.started_realtime_ns));
  int64_t more_ns = -outcome.duration_ns;
  std::vector<LongRow> rows;
  for (Row row; row.index + 1 < rows_known && reader.next(row);) {
    more_ns += row.interval_ns;
    if (row.interval_ns > run.interval_ns + kMatters_ns) rows.push_back({row.interval_ns, row.index});
  }
  std::sort(rows.begin(), rows.end(), [](const LongRow& a, const LongRow& b) { return a.interval_ns > b.interval_ns; });
  for (const LongRow& row : rows) {
    if (more_ns < kMatters_ns) return;
    const int64_t leap_ns = std::min(more_ns, row.interval_ns - run.interval_ns);
    leaps_ns_[row.index] = leap_ns;
    more_ns -= leap_ns;
  }
}

void Leaps::take_from(Row& row) const {
  if (const auto leap = leaps_ns_.find(row.index); leap != leaps_ns_.end()) row.interval_ns -= leap->second;
}

}  // namespace tacho
