#include "katib/read/arrival_marks.h"

#include <algorithm>

namespace tacho {

void ArrivalMarks::add(uint64_t place, int64_t time_us) {
  if (!marks_.empty() && place <= marks_.back().place) return;
  marks_.push_back({place, time_us});
  if (marks_.size() < kMost) return;
  // Every second one of the older half goes: what came by then gets a time that is a little later.
  std::vector<Mark> kept;
  for (size_t i = 0; i < marks_.size(); ++i)
    if (i >= kMost / 2 || i % 2 == 1) kept.push_back(marks_[i]);
  marks_ = std::move(kept);
}

std::optional<ArrivalMarks::Mark> ArrivalMarks::behind(uint64_t place) const {
  const auto mark = std::upper_bound(marks_.begin(), marks_.end(), place,
                                     [](uint64_t wanted, const Mark& at) { return wanted < at.place; });
  return mark == marks_.end() ? std::nullopt : std::optional(*mark);
}

void ArrivalRuns::add(uint64_t place) {
  if (runs_.empty() || place >= end_) {
    const auto mark = marks_ == nullptr ? std::nullopt : marks_->behind(place);
    end_ = mark ? mark->place : UINT64_MAX;
    runs_.push_back({0, mark ? mark->time_us : now_us()});
  }
  ++runs_.back().rows;
}

}  // namespace tacho
