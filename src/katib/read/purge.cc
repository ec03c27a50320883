#include "katib/read/purge.h"

#include <algorithm>

namespace tacho {

void PurgeLog::add(Marks& marks, uint64_t offset, int64_t step) {
  while (!marks.empty() && marks.back().second >= step) marks.pop_back();
  marks.emplace_back(offset, step);
}

// Of the marks behind `offset` the first has the lowest step.
bool PurgeLog::covers(const Marks& marks, int64_t step, uint64_t offset) {
  const auto mark = std::upper_bound(marks.begin(), marks.end(), offset,
                                     [](uint64_t at, const auto& entry) { return at < entry.first; });
  return mark != marks.end() && step >= mark->second;
}

void PurgeLog::see(const Event& event, uint64_t offset) {
  if (!event.file_version.empty()) version_ = file_version_number(event.file_version);
  if (version_ >= 2) {
    if (event.session_start) add(all_, offset, event.step);
    return;
  }
  if (event.step >= most_recent_ || !event.has_summary) {
    most_recent_ = event.step;
    return;
  }
  SummaryValues values(event);
  for (SummaryValue value; values.next(value);) {
    const auto known = by_tag_.find(value.tag);
    add(known != by_tag_.end() ? known->second : by_tag_[std::string(value.tag)], offset, event.step);
  }
}

bool PurgeLog::removed(std::string_view tag, int64_t step, uint64_t offset) const {
  if (covers(all_, step, offset)) return true;
  const auto marks = by_tag_.find(tag);
  return marks != by_tag_.end() && covers(marks->second, step, offset);
}

}  // namespace tacho
