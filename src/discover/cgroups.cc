#include "discover/cgroups.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "os/identity.h"
#include "procfs/cgroup_files.h"
#include "procfs/mountinfo.h"

namespace tacho {
namespace {

struct Slot {
  std::string_view controller;  // empty: v2
  std::string CgroupPaths::*folder;
  std::string CgroupPaths::*mount;
};
constexpr Slot kSlots[] = {
    {"", &CgroupPaths::unified, &CgroupPaths::mount_unified},
    {"cpu", &CgroupPaths::cpu, &CgroupPaths::mount_cpu},
    {"cpuacct", &CgroupPaths::cpuacct, &CgroupPaths::mount_cpuacct},
    {"memory", &CgroupPaths::memory, &CgroupPaths::mount_memory},
    {"blkio", &CgroupPaths::blkio, &CgroupPaths::mount_blkio},
    {"cpuset", &CgroupPaths::cpuset, &CgroupPaths::mount_cpuset},
};

bool has_word(std::string_view list, std::string_view word) {
  for (const std::string_view part : split(list, ','))
    if (part == word) return true;
  return false;
}

struct CgroupMount {
  std::string root, mount_point;  // root: the part of the hierarchy that is mounted there
};

// "/sys/fs/cgroup/memory" in the tree that stands in for /sys.
std::string below_roots(const Roots& roots, std::string mount_point) {
  constexpr std::string_view kSys = "/sys/";
  return mount_point.starts_with(kSys) ? roots.sys + "/" + mount_point.substr(kSys.size()) : mount_point;
}

// CPUs that a process may run on: those that are online, but for what taskset and cpusets take away. A tree that stands
// in for /proc has other CPUs than this machine.
std::optional<int64_t> affinity_of(const Roots& roots, pid_t pid) {
  if (!roots.are_real() || pid < 0) return std::nullopt;
  return affinity_cpus(pid);
}

// Calls visit(slot, mount) for every cgroup mount and controller.
void visit_mounts(const Roots& roots, const std::function<void(const Slot&, const CgroupMount&)>& visit) {
  const auto text = read_whole_file(roots.proc + "/self/mountinfo");
  if (!text) return;
  MountInfoLines lines(*text);
  for (MountLine line; lines.next(line);) {
    if (line.type != "cgroup" && line.type != "cgroup2") continue;
    const CgroupMount mount{decode_mount_field(line.root), below_roots(roots, decode_mount_field(line.mount_point))};
    for (const Slot& slot : kSlots) {
      const bool match = slot.controller.empty()
                             ? line.type == "cgroup2"
                             : line.type == "cgroup" && has_word(line.super_options, slot.controller);
      if (match) visit(slot, mount);
    }
  }
}

std::string join(const std::string& folder, std::string_view path) {
  if (path.empty() || path == "/") return folder;
  return folder + (path.starts_with('/') ? "" : "/") + std::string(path);
}

// The folder of a cgroup path below a mount. Inside a container the mount may show only a part of the hierarchy, or the
// path may be written from the host's root: then what is visible is the mount's own top.
std::string folder_below(const CgroupMount& mount, std::string path) {
  if (mount.root != "/" && (path == mount.root || path.starts_with(mount.root + "/")))
    path = path.substr(mount.root.size());
  const std::string folder = join(mount.mount_point, path);
  return file_exists(folder) && path.find("/..") == std::string::npos ? folder : mount.mount_point;
}

// Applies read(folder) from the cgroup up to its mount point. The machine's top limits nothing: its figures are the
// machine's.
void walk_up(std::string folder, const std::string& mount, const std::function<void(const std::string&)>& read) {
  while (!folder.empty() && !mount.empty()) {
    if (is_hierarchy_root(folder)) return;
    read(folder);
    if (folder == mount || folder.size() <= mount.size()) return;
    folder.resize(folder.rfind('/'));
  }
}

template <class T>
void lower_to(std::optional<T>& limit, std::optional<T> value) {
  if (value) limit = std::min(limit.value_or(*value), *value);
}

std::optional<double> quota_v1(const std::string& folder) {
  const auto quota = parse_single(read_first_line(folder + "/cpu.cfs_quota_us"));  // −1: none
  const auto period = parse_single(read_first_line(folder + "/cpu.cfs_period_us"));
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

CgroupPaths find_cgroups(const Roots& roots, pid_t pid) {
  CgroupPaths paths;
  const std::string file = roots.proc + "/" + (pid > 0 ? std::to_string(pid) : "self") + "/cgroup";
  const auto text = read_whole_file(file);
  if (!text) return paths;
  visit_mounts(roots, [&](const Slot& slot, const CgroupMount& mount) {
    parse_cgroup_paths(*text, [&](std::string_view controllers, std::string_view path) {
      const bool match = slot.controller.empty() ? controllers.empty() : has_word(controllers, slot.controller);
      if (!match || !(paths.*slot.folder).empty()) return;
      paths.*slot.folder = folder_below(mount, std::string(path));
      paths.*slot.mount = mount.mount_point;
    });
  });
  return paths;
}

CgroupPaths named_cgroup(const Roots& roots, const std::string& path) {
  CgroupPaths paths;
  visit_mounts(roots, [&](const Slot& slot, const CgroupMount& mount) {
    const bool absolute = path == mount.mount_point || path.starts_with(mount.mount_point + "/");
    const std::string folder = absolute ? path : join(mount.mount_point, path);
    if (!file_exists(folder + "/cgroup.procs") || !(paths.*slot.folder).empty()) return;
    paths.*slot.folder = folder;
    paths.*slot.mount = mount.mount_point;
  });
  return paths;
}

bool is_hierarchy_root(const std::string& folder) {
  // v1: only the top has release_agent; v2: only the top lacks cgroup.type.
  if (file_exists(folder + "/cgroup.controllers")) return !file_exists(folder + "/cgroup.type");
  return file_exists(folder + "/release_agent");
}

Limits find_limits(const Roots& roots, const CgroupPaths& paths, pid_t pid, int64_t machine_memory_bytes) {
  Limits limits;
  limits.cpuset_cpus = affinity_of(roots, pid);
  walk_up(paths.unified, paths.mount_unified, [&](const std::string& folder) {
    lower_to(limits.cpu_quota_cores, parse_cpu_max(read_first_line(folder + "/cpu.max")));
    lower_to(limits.memory_limit_bytes, parse_single(read_first_line(folder + "/memory.max")));
    lower_to(limits.cpuset_cpus, count_cpu_list(read_first_line(folder + "/cpuset.cpus.effective")));
  });
  walk_up(paths.cpu, paths.mount_cpu,
          [&](const std::string& folder) { lower_to(limits.cpu_quota_cores, quota_v1(folder)); });
  walk_up(paths.memory, paths.mount_memory, [&](const std::string& folder) {
    lower_to(limits.memory_limit_bytes, parse_single(read_first_line(folder + "/memory.limit_in_bytes")));
  });
  walk_up(paths.cpuset, paths.mount_cpuset, [&](const std::string& folder) {
    lower_to(limits.cpuset_cpus, count_cpu_list(read_first_line(folder + "/cpuset.effective_cpus")));
  });
  // "No limit" is a huge number in v1; one above the machine's memory limits nothing.
  if (limits.memory_limit_bytes && (*limits.memory_limit_bytes >= int64_t{1} << 62 ||
                                    (machine_memory_bytes > 0 && *limits.memory_limit_bytes > machine_memory_bytes)))
    limits.memory_limit_bytes.reset();
  return limits;
}

}  // namespace tacho
