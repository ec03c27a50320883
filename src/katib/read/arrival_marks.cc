#include "katib/read/arrival_marks.h"

#include <algorithm>

namespace tacho {

void ArrivalMarks::add(int64_t rows, int64_t time_us) {
  if (!marks_.empty() && rows <= marks_.back().rows) return;
  marks_.push_back({rows, time_us});
  if (marks_.size() < kMost) return;
  // Every second one of the older half goes: their rows get a time that is a little later.
  std::vector<Mark> kept;
  for (size_t i = 0; i < marks_.size(); ++i)
    if (i >= kMost / 2 || i % 2 == 1) kept.push_back(marks_[i]);
  marks_ = std::move(kept);
}

std::vector<ArrivalRun> ArrivalMarks::runs(int64_t first, int64_t count, int64_t otherwise_us) const {
  std::vector<ArrivalRun> out;
  auto mark =
      std::upper_bound(marks_.begin(), marks_.end(), first, [](int64_t row, const Mark& m) { return row < m.rows; });
  for (; count > 0 && mark != marks_.end(); ++mark) {
    const int64_t rows = std::min(count, mark->rows - first);
    out.push_back({rows, mark->time_us});
    first += rows;
    count -= rows;
  }
  if (count > 0) out.push_back({count, otherwise_us});
  return out;
}

}  // namespace tacho
