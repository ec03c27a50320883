// How ProcessTree knows the highest memory of processes that are not its own to reap.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/units.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr int64_t kPeakEveryNs = kNsPerSec - 50 * kNsPerMs;

}  // namespace

// High-water marks of processes whose rusage nobody will tell us: one process a second is enough, since the mark stays;
// at the end all that ran.
void ProcessTree::read_peaks(int64_t now_ns) {
  if (members_.empty()) return;
  if (context_.facts.closing) {
    for (Member& member : members_) raise_peak(member);
  } else if (now_ns - peak_stamp_ns_ >= kPeakEveryNs) {
    peak_stamp_ns_ = now_ns;
    raise_peak(members_[peak_next_++ % members_.size()]);
  }
}

std::optional<int64_t> ProcessTree::peak_of(const Member& member) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "%d/status", static_cast<int>(member.memory_pid()));
  std::string_view text;
  PidStatus status;
  if (!context_.buffer.read_at(proc_fd_.get(), path.data(), text) || !parse_pid_status(text, status)) return {};
  return status.peak_rss_bytes;
}

// A mark that has not risen since it was followed is from before, and says nothing of what was recorded. One that fell
// is another program's: the process became it.
void ProcessTree::raise_peak(Member& member) {
  if (member.peak_tick == member.ran_tick) return;  // it did not run since
  member.peak_tick = member.ran_tick;
  take_peak(member, peak_of(member).value_or(0));
}

void ProcessTree::take_peak(Member& member, int64_t peak) {
  if (peak > 0 && peak < member.peak_floor_bytes) member.peak_floor_bytes = 0;
  if (peak > member.peak_floor_bytes) largest_bytes_ = std::max(largest_bytes_, peak);
}

}  // namespace tacho
