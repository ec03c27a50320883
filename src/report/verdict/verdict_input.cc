// The verdict of a stored run or a metrics file: its rows and its phases.
#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/verdict/verdict.h"

namespace tacho {

RunVerdict::RunVerdict(const Schema& schema, const Run& run) : fold_(schema), run_(JudgedRun::of(run)) {
  for (const Phase& phase : run.phases) phases_.push_back({phase.name, phase.started_s, phase.ended_s, {}});
  std::stable_sort(phases_.begin(), phases_.end(),
                   [](const Judged& a, const Judged& b) { return a.started_s < b.started_s; });
}

std::optional<RowClass> RunVerdict::add(const Row& row) {
  const auto found = fold_.add(row, run_);
  if (!found) return found;
  const double end_s = row.cells[0];
  // Phases do not nest: the last that began before.
  const auto after = std::lower_bound(phases_.begin(), phases_.end(), end_s,
                                      [](const Judged& phase, double at) { return phase.started_s < at; });
  if (after != phases_.begin() && end_s <= std::prev(after)->ended_s)
    std::prev(after)->times.add(*found, row.interval_ns);
  return found;
}

Verdict RunVerdict::verdict(const Run& run) const {
  Verdict verdict = fold_.verdict(run);
  for (const Judged& phase : phases_) {
    double seconds = phase.ended_s - phase.started_s;
    if (!std::isfinite(seconds)) seconds = as_seconds(phase.times.total_ns());  // it goes on
    verdict.phases.push_back({phase.name, seconds, phase.times.judge(!verdict.missing.empty())});
  }
  return verdict;
}

Result<Verdict> verdict_of(const Input& input) {
  const Run& run = input.stored.run;
  CsvReader reader;
  if (const Status status = reader.open(input.rows_path); !status) return status.error();
  RunVerdict rows(reader.schema(), run);
  each_timed_row(reader, input, [&](const Row& row) { rows.add(row); });
  Verdict verdict = rows.verdict(run);
  verdict.shown_id = input.stored.shown_id();
  return verdict;
}

}  // namespace tacho
