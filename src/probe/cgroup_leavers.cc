#include "probe/cgroup_leavers.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/units.h"
#include "probe/process_tree.h"
#include "procfs/cgroup_files.h"

namespace tacho {
namespace {

constexpr int64_t kAheadNs = 20 * kNsPerMs;
constexpr int64_t kAheadAtEndNs = 50 * kNsPerMs;  // a daemon that runs on may still be ahead

}  // namespace

CgroupLeavers::CgroupLeavers(const std::string& folder) : name_(folder.substr(std::min(folder.size(), folder.rfind('/')))) {}

bool CgroupLeavers::found(ProbeContext& context, int64_t now_ns, int64_t cgroup_ns, int64_t tree_ns) {
  const bool closing = context.facts.closing;
  if (tree_ns - cgroup_ns <= (closing ? kAheadAtEndNs : kAheadNs) + cgroup_ns / 50) return false;
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
