// Whether processes of the job left the cgroup that was made for it, as with systemd-run --scope, podman or cgexec: its
// sums lack their time then. The tree's own sum being ahead is the sign; since it is ahead by a tick for each CPU while
// the job runs, /proc/PID/cgroup of the members has the last word, at most once a second. After the end nothing is
// behind any more. Not thread-safe; no allocation in a steady tick.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "probe/kit/probe.h"

namespace tacho {

class CgroupLeavers {
 public:
  // folder: the job's own, of cgroup v2.
  explicit CgroupLeavers(const std::string& folder);
  // cgroup_ns, tree_ns: CPU time of the job since its start, by each.
  bool found(ProbeContext& context, int64_t now_ns, int64_t cgroup_ns, int64_t tree_ns);

 private:
  bool is_outside(ProbeContext& context, pid_t pid) const;

  std::string name_;  // "/tacho-4711-a1b2"
  std::vector<pid_t> pids_;
  int64_t next_look_ns_ = 0;
};

}  // namespace tacho
