// Where the cgroups of a process are, and the limits that hold there: v1, v2 and hybrid, nested namespaces and mounts
// of a part of the hierarchy. Relies on /proc/PID/cgroup and /proc/self/mountinfo. Thread-safe (no state).
#pragma once
#include <sys/types.h>

#include <string>

#include "model/cgroup.h"
#include "model/run.h"
#include "os/file.h"

namespace tacho {

// pid 0: tacho itself.
CgroupPaths find_cgroups(const Roots& roots, pid_t pid);
// The cgroups that a user named: an absolute folder, or a path below the mount points.
CgroupPaths named_cgroup(const Roots& roots, const std::string& path);

// The lowest limit on the way from the cgroup to the top, and the CPUs that `pid` may use (0: tacho itself; kNoProcess:
// the cgroup alone decides).
constexpr pid_t kNoProcess = -1;
Limits find_limits(const Roots& roots, const CgroupPaths& paths, pid_t pid, int64_t machine_memory_bytes);

// The machine's own top cgroup: its figures are the machine's, not the job's.
bool is_hierarchy_root(const std::string& folder);

}  // namespace tacho
