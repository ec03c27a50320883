#include "sink/process_table.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace tacho {
namespace {

bool is_group(const ProcessRecord& record) { return record.count > 1; }

// Alone before merged, who lives before who has ended, much CPU time before little.
bool comes_first(const ProcessRecord& a, const ProcessRecord& b) {
  if (is_group(a) != is_group(b)) return !is_group(a);
  if ((a.ended_ms == 0) != (b.ended_ms == 0)) return a.ended_ms == 0;
  if (a.cpu_ns != b.cpu_ns) return a.cpu_ns > b.cpu_ns;
  return a.started_ms < b.started_ms;
}

bool by_name(const ProcessRecord& a, const ProcessRecord& b) { return a.name_view() < b.name_view(); }

}  // namespace

ProcessTable::ProcessTable(size_t most) : most_(most), room_(most + most / 4 + 16) { records_.reserve(room_); }

void ProcessTable::add(const ProcessRecord& record) {
  if (records_.size() >= room_) merge(most_);
  records_.push_back(record);
}

void ProcessTable::merge(size_t most) {
  if (records_.size() <= most) return;
  std::sort(records_.begin(), records_.end(), comes_first);
  const auto groups =
      static_cast<size_t>(std::count_if(records_.begin(), records_.end(), [](const auto& r) { return is_group(r); }));
  const size_t kept = kept_apart(most, records_.size() - groups, groups);
  merge_by_name(kept);
  drop_smallest_names(kept, most);
}

// As many as leave room for a line a name of the rest; half of the room at the least, since many names must not crowd
// out the large ones.
size_t ProcessTable::kept_apart(size_t most, size_t singles, size_t groups) const {
  std::set<std::string_view> names;
  for (size_t i = singles; i < singles + groups; ++i) names.insert(records_[i].name_view());
  size_t kept = singles;
  for (; kept > std::min(singles, (most + 1) / 2) && kept + names.size() > most; --kept)
    names.insert(records_[kept - 1].name_view());
  return kept;
}

void ProcessTable::merge_by_name(size_t kept) {
  const auto first = records_.begin() + static_cast<std::ptrdiff_t>(kept);
  std::sort(first, records_.end(), by_name);
  auto last = first;
  for (auto at = first; at != records_.end(); ++at) {
    if (last != first && (last - 1)->name == at->name) (last - 1)->merge(*at);
    else *last++ = *at;
  }
  records_.erase(last, records_.end());
}

void ProcessTable::drop_smallest_names(size_t kept, size_t most) {
  if (records_.size() <= most) return;
  const auto first = records_.begin() + static_cast<std::ptrdiff_t>(kept);
  std::sort(first, records_.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  for (size_t i = most; i < records_.size(); ++i) {
    if (other_) other_->merge(records_[i]);
    else other_ = records_[i];
  }
  other_->pid = other_->ppid = 0;
  other_->exit = -1;
  other_->line_bytes = 0;
  records_.resize(most);
}

}  // namespace tacho
