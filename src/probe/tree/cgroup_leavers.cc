#include "probe/tree/cgroup_leavers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/units.h"
#include "probe/tree/process_tree.h"
#include "procfs/cgroup_files.h"

namespace tacho {
namespace {

// While the job runs, its tree is ahead by a tick of the kernel's for each CPU. However long it ran: a share of its
// time would let one that left use as much unseen, and all of it would be in one row.
constexpr int64_t kAheadNs = 20 * kNsPerMs, kAheadPerCpuNs = 10 * kNsPerMs;
constexpr int64_t kAheadAtEndNs = 50 * kNsPerMs;  // a daemon that runs on may still be ahead

int64_t most_ahead_ns(bool closing, int64_t cgroup_ns) {
  static const int64_t cpus = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  return closing ? kAheadAtEndNs + cgroup_ns / 50 : kAheadNs + cpus * kAheadPerCpuNs;
}

}  // namespace

CgroupLeavers::CgroupLeavers(const std::string& folder)
    : name_(folder.substr(std::min(folder.size(), folder.rfind('/')))) {}

bool CgroupLeavers::found(ProbeContext& context, int64_t now_ns, int64_t cgroup_ns, int64_t tree_ns) {
  const bool closing = context.facts.closing;
  if (tree_ns - cgroup_ns <= most_ahead_ns(closing, cgroup_ns)) return false;
  if (closing) return true;
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + kNsPerSec;
  context.tree->copy(pids_);
  return std::any_of(pids_.begin(), pids_.end(), [&](pid_t pid) { return is_outside(context, pid); });
}

// "0::/user.slice/tacho-4711-a1b2/below"
bool CgroupLeavers::is_outside(ProbeContext& context, pid_t pid) const {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/%d/cgroup", static_cast<int>(pid));
  const auto text = read_whole_file(context.roots.proc + path.data(), 1 << 16);
  bool outside = false;
  if (text)
    parse_cgroup_paths(*text, [&](std::string_view controllers, std::string_view where) {
      if (controllers.empty()) outside = where.find(name_) == std::string_view::npos;
    });
  return outside;
}

}  // namespace tacho
