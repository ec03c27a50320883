// Where a process's cgroups are and what they allow, over mountinfo and folders made for the test.
#include "discover/cgroups.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace tacho {
namespace {

struct Machine {
  TempDir dir;
  Roots roots{dir / "proc", dir / "sys", dir / "etc"};
  std::string mounts;

  Machine() { std::filesystem::create_directories(dir / "proc/self"); }
  void put(const std::string& path, std::string_view text) {
    const std::string full = dir / path;
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    spill(full, text);
  }
  // `root` is the part of the hierarchy that is mounted at `place`.
  void mount(const std::string& place, const std::string& type, const std::string& options,
             const std::string& root = "/") {
    std::filesystem::create_directories(dir / place);
    mounts += "31 24 0:27 " + root + " " + (dir / place) + " rw,relatime - " + type + " cgroup rw," + options + "\n";
    spill(dir / "proc/self/mountinfo", mounts);
  }
};

TEST(Cgroups, Version2FindsTheOwnFolderAndTheLowestLimits) {
  Machine machine;
  machine.mount("cg", "cgroup2", "nsdelegate");
  machine.put("proc/self/cgroup", "0::/slice/job\n");
  machine.put("cg/slice/cpu.max", "150000 100000\n");
  machine.put("cg/slice/memory.max", "1073741824\n");
  machine.put("cg/slice/job/cpu.max", "max 100000\n");
  machine.put("cg/slice/job/memory.max", "max\n");
  machine.put("cg/slice/job/cpuset.cpus.effective", "0\n");
  const CgroupPaths paths = find_cgroups(machine.roots, 0);
  EXPECT_EQ(paths.unified, machine.dir / "cg/slice/job");
  EXPECT_EQ(paths.mount_unified, machine.dir / "cg");
  EXPECT_TRUE(paths.cpuacct.empty());
  const Limits limits = find_limits(machine.roots, paths, 0, int64_t{64} << 30);
  EXPECT_EQ(limits.cpu_quota_cores, 1.5);
  EXPECT_EQ(limits.memory_limit_bytes, int64_t{1} << 30);
  EXPECT_EQ(limits.cpuset_cpus, 1);
}

// The machine's top cgroup is the machine: what it says is no limit, and no container.
TEST(Cgroups, TheMachinesTopLimitsNothing) {
  Machine machine;
  machine.mount("cg", "cgroup2", "nsdelegate");
  machine.mount("cpuset", "cgroup", "cpuset");
  machine.put("proc/self/cgroup", "4:cpuset:/\n0::/\n");
  machine.put("cg/cgroup.controllers", "cpuset cpu memory\n");
  machine.put("cg/cpuset.cpus.effective", "0-1\n");
  machine.put("cpuset/release_agent", "");
  machine.put("cpuset/cpuset.effective_cpus", "0-3\n");
  const Limits limits = find_limits(machine.roots, find_cgroups(machine.roots, 0), 0, int64_t{64} << 30);
  EXPECT_FALSE(limits.cpuset_cpus);
  EXPECT_FALSE(limits.cpu_quota_cores);
  EXPECT_FALSE(limits.memory_limit_bytes);
}

TEST(Cgroups, HybridHasBoth) {
  Machine machine;
  machine.mount("cpu,cpuacct", "cgroup", "cpu,cpuacct");
  machine.mount("memory", "cgroup", "memory");
  machine.mount("unified", "cgroup2", "nsdelegate");
  machine.put("proc/self/cgroup", "9:memory:/a b/c\n3:cpu,cpuacct:/a b\n1:name=systemd:/x\n0::/user\n");
  machine.put("cpu,cpuacct/a b/cpu.cfs_quota_us", "50000\n");
  machine.put("cpu,cpuacct/a b/cpu.cfs_period_us", "100000\n");
  machine.put("memory/a b/c/memory.limit_in_bytes", "9223372036854771712\n");
  machine.put("memory/a b/memory.limit_in_bytes", "2147483648\n");
  machine.put("unified/user/cgroup.procs", "");
  const CgroupPaths paths = find_cgroups(machine.roots, 0);
  EXPECT_EQ(paths.cpu, machine.dir / "cpu,cpuacct/a b");
  EXPECT_EQ(paths.cpuacct, paths.cpu);
  EXPECT_EQ(paths.memory, machine.dir / "memory/a b/c");
  EXPECT_EQ(paths.unified, machine.dir / "unified/user");
  const Limits limits = find_limits(machine.roots, paths, 0, int64_t{64} << 30);
  EXPECT_EQ(limits.cpu_quota_cores, 0.5);
  EXPECT_EQ(limits.memory_limit_bytes, int64_t{2} << 30);
}

// Docker with cgroup v1 mounts the container's part at the usual place; /proc/self/cgroup is written from the host's
// root.
TEST(Cgroups, InAContainerThePathIsBelowTheMountsRoot) {
  Machine machine;
  machine.mount("memory", "cgroup", "memory", "/docker/0123abcd");
  machine.put("memory/memory.limit_in_bytes", "536870912\n");
  machine.put("memory/inner/memory.limit_in_bytes", "268435456\n");
  machine.put("proc/self/cgroup", "4:memory:/docker/0123abcd\n");
  EXPECT_EQ(find_cgroups(machine.roots, 0).memory, machine.dir / "memory");
  EXPECT_EQ(find_limits(machine.roots, find_cgroups(machine.roots, 0), 0, int64_t{64} << 30).memory_limit_bytes,
            512 << 20);
  machine.put("proc/self/cgroup", "4:memory:/docker/0123abcd/inner\n");
  EXPECT_EQ(find_limits(machine.roots, find_cgroups(machine.roots, 0), 0, int64_t{64} << 30).memory_limit_bytes,
            256 << 20);
  machine.put("proc/self/cgroup",
              "4:memory:/docker/another\n");  // not visible from here: the mount's top is what there is
  EXPECT_EQ(find_cgroups(machine.roots, 0).memory, machine.dir / "memory");
}

TEST(Cgroups, ALimitAboveTheMachinesMemoryIsNone) {
  Machine machine;
  machine.mount("memory", "cgroup", "memory");
  machine.put("proc/self/cgroup", "4:memory:/\n");
  machine.put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(find_limits(machine.roots, find_cgroups(machine.roots, 0), 0, 0).memory_limit_bytes);
  machine.put("memory/memory.limit_in_bytes", "34359738368\n");
  EXPECT_FALSE(find_limits(machine.roots, find_cgroups(machine.roots, 0), 0, int64_t{16} << 30).memory_limit_bytes);
}

// A captured tree has the kernel's own words for its mount points, and its own CPUs.
TEST(Cgroups, MountPointsAreFoundInTheTreeThatStandsInForSys) {
  Machine machine;
  machine.put("proc/self/mountinfo", "31 24 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n");
  machine.put("proc/self/cgroup", "0::/slice/job\n");
  machine.put("sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
  machine.put("sys/fs/cgroup/slice/job/memory.max", "1073741824\n");
  const CgroupPaths paths = find_cgroups(machine.roots, 0);
  EXPECT_EQ(paths.unified, machine.dir / "sys/fs/cgroup/slice/job");
  Limits limits = find_limits(machine.roots, paths, 0, int64_t{64} << 30);
  EXPECT_EQ(limits.cpu_quota_cores, 1.5);
  EXPECT_EQ(limits.memory_limit_bytes, int64_t{1} << 30);
  EXPECT_FALSE(limits.cpuset_cpus) << "this process runs on another machine";
  machine.put("sys/fs/cgroup/slice/cpuset.cpus.effective",
              "0-47,96-143\n");  // the job's own cgroup need not have the controller
  EXPECT_EQ(find_limits(machine.roots, paths, 0, int64_t{64} << 30).cpuset_cpus, 96);
  machine.put("sys/fs/cgroup/slice/job/cpuset.cpus.effective", "0-3\n");
  EXPECT_EQ(find_limits(machine.roots, paths, 0, int64_t{64} << 30).cpuset_cpus, 4);
}

TEST(Cgroups, TheAffinityIsThatOfTheTrackedProcess) {
  cpu_set_t all, one;
  CPU_ZERO(&all);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one CPU only";
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  int stay[2];
  ASSERT_EQ(::pipe(stay), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char end = 0;
    ::close(stay[1]);
    ::_exit(::read(stay[0], &end, 1) == 0 ? 0 : 1);
  }
  ASSERT_EQ(::sched_setaffinity(child, sizeof one, &one), 0);
  EXPECT_EQ(find_limits({}, {}, child, 0).cpuset_cpus, 1);
  EXPECT_EQ(find_limits({}, {}, 0, 0).cpuset_cpus, CPU_COUNT(&all));
  EXPECT_FALSE(find_limits({}, {}, kNoProcess, 0).cpuset_cpus);
  ::close(stay[1]);
  ::close(stay[0]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Cgroups, WithoutFilesThereIsNothing) {
  Machine machine;
  const CgroupPaths paths = find_cgroups(machine.roots, 0);
  EXPECT_TRUE(paths.unified.empty());
  EXPECT_TRUE(paths.memory.empty());
  EXPECT_FALSE(find_limits(machine.roots, paths, 0, 1 << 30).memory_limit_bytes);
  EXPECT_FALSE(find_limits(machine.roots, paths, 0, 1 << 30).cpu_quota_cores);
}

}  // namespace
}  // namespace tacho
