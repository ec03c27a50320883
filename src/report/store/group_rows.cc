#include "report/store/group_rows.h"

#include <algorithm>
#include <array>

#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kMostRows = 100'000;  // longer groups get a coarser grid
constexpr size_t kNoCell = static_cast<size_t>(-1), kTimeCell = 0, kMemoryCell = 1;

struct Summed {
  std::string_view name;
  int decimals;
};
constexpr std::array kSummedColumns = {Summed{"process_memory_mib", 3},
                                       Summed{"process_cpu_usage", 4},
                                       Summed{"process_utime", 4},
                                       Summed{"process_stime", 4},
                                       Summed{"process_children", 2},
                                       Summed{"process_threads", 2},
                                       Summed{"process_disk_read_bytes", 0},
                                       Summed{"process_disk_write_bytes", 0},
                                       Summed{"process_gpu_usage", 4},
                                       Summed{"process_gpu_vram_mib", 3},
                                       Summed{"process_gpu_utilized", 2},
                                       Summed{"process_iowait", 4},
                                       Summed{"process_major_page_faults", 2},
                                       Summed{"process_ctxt_switches", 2}};

void add(double& sum, double value) { sum = is_absent(sum) ? value : sum + value; }

}  // namespace

GroupRows::GroupRows(std::span<const StoredRun> members) {
  at_ns_ = INT64_MAX;
  for (const StoredRun& stored : members) open(stored);
  if (members_.empty()) at_ns_ = 0;
  // A column that no member has is none of the group's.
  schema_.push_back(kTimestampColumn);
  int position = kTimestampColumn.position;
  for (const Summed& column : kSummedColumns) {
    bool is_there = column.name == kSummedColumns[0].name;
    for (const auto& member : members_)
      is_there = is_there || std::count(member->reader.columns().begin(), member->reader.columns().end(), column.name);
    const Rule rule = is_per_interval(column.name) ? Rule::delta : Rule::level;
    if (is_there) schema_.push_back({++position, column.name, "", column.decimals, rule, 0, 1, "", nullptr});
  }
  for (const auto& member : members_)
    for (const Column& column : schema_) {
      const auto& names = member->reader.columns();
      const auto found = std::find(names.begin(), names.end(), column.name);
      member->cells.push_back(found == names.end() ? kNoCell : static_cast<size_t>(found - names.begin()));
    }
  width_ns_ = std::max({width_ns_, (end_ns_ - at_ns_) / kMostRows, kNsPerMs});
}

void GroupRows::open(const StoredRun& stored) {
  auto member = std::make_unique<Member>();
  const Outcome& outcome = stored.run.outcome;
  if (!member->reader.open(stored.folder + "/metrics.csv")) {
    ++unreadable_;
    return;
  }
  if (outcome.started_realtime_ns > 0) member->reader.set_start(seconds_by_ms(outcome.started_realtime_ns));
  member->interval_ns = std::max(stored.run.interval_ns, kNsPerMs);
  const int64_t lasts_ns = outcome.started_realtime_ns + outcome.duration_ns;
  member->leaves_ns = outcome.state == RunState::running ? INT64_MAX
                      : outcome.finished_realtime_ns > 0 ? outcome.finished_realtime_ns
                                                         : lasts_ns;
  advance(*member);
  if (!member->has_row) {
    ++unreadable_;
    return;
  }
  at_ns_ = std::min(at_ns_, member->row.realtime_ns - member->row.interval_ns);
  end_ns_ = std::max({end_ns_, outcome.finished_realtime_ns, lasts_ns});
  width_ns_ = std::max(width_ns_, member->interval_ns);
  members_.push_back(std::move(member));
}

void GroupRows::advance(Member& member) {
  member.given = 0;
  member.has_row = member.reader.next(member.row);
  if (member.has_row && member.row.interval_ns == 0) member.row.interval_ns = member.interval_ns;
}

void GroupRows::add_share(Member& member, int64_t from_ns, int64_t to_ns, bool is_rest, Row& row) {
  const int64_t begin_ns = member.row.realtime_ns - member.row.interval_ns;
  const int64_t shared_ns = std::max<int64_t>(0, std::min(to_ns, member.row.realtime_ns) - std::max(from_ns, begin_ns));
  const double part = static_cast<double>(shared_ns) / static_cast<double>(member.row.interval_ns);
  const double share = is_rest ? 1 - member.given : std::min(part, 1 - member.given);
  member.given += share;
  const double presence = static_cast<double>(shared_ns) / static_cast<double>(to_ns - from_ns);
  for (size_t i = kMemoryCell + 1; i < schema_.size(); ++i) {
    const double value = member.cells[i] == kNoCell ? kAbsent : member.row.cells[member.cells[i]];
    if (!is_absent(value)) add(row.cells[i], value * (schema_[i].rule == Rule::delta ? share : presence));
  }
}

void GroupRows::take(Member& member, int64_t from_ns, int64_t to_ns, Row& row) {
  while (member.has_row && member.row.realtime_ns <= to_ns) {
    add_share(member, from_ns, to_ns, true, row);
    const size_t cell = member.cells[kMemoryCell];
    const int64_t at_ns = member.row.realtime_ns;
    if (cell != kNoCell && !is_absent(member.row.cells[cell]))
      changes_.push_back({at_ns, &member, member.row.cells[cell]});
    advance(member);
    if (!member.has_row && member.leaves_ns != INT64_MAX)
      changes_.push_back({std::max(at_ns, member.leaves_ns), &member, kAbsent});
  }
  if (member.has_row && member.row.realtime_ns - member.row.interval_ns < to_ns)
    add_share(member, from_ns, to_ns, false, row);
}

// What is told of one moment is one state, in which those that leave at it still count.
double GroupRows::highest_memory(int64_t to_ns) {
  const auto leaves = [](const Change& change) { return is_absent(change.memory_mib); };
  std::stable_sort(changes_.begin(), changes_.end(), [&](const Change& a, const Change& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : !leaves(a) && leaves(b);
  });
  const auto together = [&] {
    double sum = kAbsent;
    for (const auto& member : members_)
      if (!is_absent(member->memory_mib)) add(sum, member->memory_mib);
    return sum;
  };
  const double before = together();
  double highest = kAbsent;
  size_t used = 0;
  while (used < changes_.size() && changes_[used].at_ns <= to_ns) {
    const int64_t moment_ns = changes_[used].at_ns;
    const auto is_now = [&] { return used < changes_.size() && changes_[used].at_ns == moment_ns; };
    for (; is_now() && !leaves(changes_[used]); ++used) changes_[used].member->memory_mib = changes_[used].memory_mib;
    if (const double now = together(); !(highest >= now)) highest = now;
    for (; is_now(); ++used) changes_[used].member->memory_mib = kAbsent;
  }
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(used));
  return is_absent(highest) ? before : highest;
}

bool GroupRows::next(Row& row) {
  const auto goes_on = [](const auto& member) { return member->has_row; };
  if (std::none_of(members_.begin(), members_.end(), goes_on)) return false;
  int64_t to_ns = at_ns_ + width_ns_;
  if (end_ns_ > at_ns_ && end_ns_ < to_ns) to_ns = end_ns_;
  // A clock that was years off: what is left becomes one row.
  if (rows_ > kMostRows)
    for (const auto& member : members_) to_ns = std::max(to_ns, member->has_row ? member->row.realtime_ns : to_ns);
  row.cells.assign(schema_.size(), kAbsent);
  for (const auto& member : members_) take(*member, at_ns_, to_ns, row);
  row.cells[kMemoryCell] = highest_memory(to_ns);
  if (const double memory = row.cells[kMemoryCell]; !is_absent(memory) && !(memory_peak_mib_ >= memory))
    memory_peak_mib_ = memory;
  row.index = rows_++;
  row.realtime_ns = to_ns;
  row.interval_ns = to_ns - at_ns_;
  row.cells[kTimeCell] = seconds_by_ms(to_ns);
  at_ns_ = to_ns;
  return true;
}

}  // namespace tacho
