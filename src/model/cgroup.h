// Where a process's cgroups are, as absolute folders; empty where there is none. Plain data.
#pragma once
#include <string>

namespace tacho {

struct CgroupPaths {
  std::string unified;                              // cgroup v2
  std::string cpu, cpuacct, memory, blkio, cpuset;  // cgroup v1 controllers
  bool job_only = false;      // the folder for CPU time holds the job and nothing else, so its sums are the job's
  std::string mount_unified;  // mount points, where a walk to the ancestors ends
  std::string mount_cpu, mount_cpuacct, mount_memory, mount_blkio, mount_cpuset;
};

}  // namespace tacho
