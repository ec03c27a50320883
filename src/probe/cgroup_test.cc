// Cgroup trees of all kinds, made of plain files.
#include "probe/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/units.h"
#include "probe/kit/cpuacct.h"
#include "probe/tree/process_tree.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// The columns of one reading by name: what a row would have after a reading of zeros.
class Columns {
 public:
  Columns(const ProbeInfo& info, ProbeContext& context) : info_(info) {
    auto made = info.make(context);
    if (made) probe_ = std::move(*made);
  }
  bool made() const { return probe_ != nullptr; }
  void read(int64_t stamp_ns) {
    std::swap(before_, now_);
    before_.keep_from(now_);
    now_.clear();
    now_.stamp_ns = stamp_ns;
    probe_->read(now_);
  }
  double operator[](std::string_view name) const {
    for (const Column& column : info_.columns)
      if (column.name == name) return derive(column, before_, now_);
    ADD_FAILURE() << name;
    return 0;
  }

 private:
  const ProbeInfo& info_;
  std::unique_ptr<Probe> probe_;
  Reading before_, now_;
};

// A hierarchy below `top`; a file that is written is replaced at once, as the kernel does it.
struct Tree {
  TempDir dir;
  std::string top(const std::string& hierarchy) {
    std::filesystem::create_directories(dir / hierarchy);
    return dir / hierarchy;
  }
  void put(const std::string& path, std::string_view text) {
    const std::string full = dir / path;
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    spill(full, text);
  }
};

struct Ticking {
  ProbeContext context;
  int64_t stamp_ns = 100 * kNsPerSec;
  Columns begin() {
    Columns columns(kCgroupProbe, context);
    EXPECT_TRUE(columns.made());
    if (columns.made()) tick(columns);
    return columns;
  }
  void in_unified(Tree& tree, const char* folder) {
    context.cgroup.unified = tree.dir / folder;
    context.cgroup.mount_unified = tree.top("v2");
  }
  void tick(Columns& columns) {
    context.facts = {};
    columns.read(stamp_ns += kNsPerSec);
  }
};

// What a row has, by the names of columns without "cgroup_".
void expect_row(const Columns& columns, std::initializer_list<std::pair<const char*, double>> wanted) {
  for (const auto& [name, value] : wanted) EXPECT_DOUBLE_EQ(columns[std::string("cgroup_") + name], value) << name;
}

TEST(CgroupProbe, ReadsAllOfAVersion2Container) {
  Tree tree;
  tree.put("v2/cgroup.controllers", "cpu io memory\n");  // the machine's top: no cgroup.type
  tree.put("v2/box/cgroup.controllers", "cpu io memory\n");
  tree.put("v2/box/cgroup.type", "domain\n");
  tree.put("v2/box/cpu.stat",
           "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\n"
           "nr_periods 9\nnr_throttled 4\nthrottled_usec 500000\n");
  tree.put("v2/box/memory.current", "104857600\n");
  tree.put("v2/box/memory.peak", "209715200\n");
  tree.put("v2/box/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n");
  tree.put("v2/box/io.stat", "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=9 dios=1\n259:1 rbytes=1 wbytes=2\n");
  Ticking ticking;
  ticking.in_unified(tree, "v2/box");
  ticking.context.limits.memory_limit_bytes = 256 * kMiB;
  Columns columns = ticking.begin();
  tree.put("v2/box/cpu.stat",
           "usage_usec 4500000\nuser_usec 3000000\nsystem_usec 1500000\n"
           "nr_periods 19\nnr_throttled 6\nthrottled_usec 750000\n");
  tree.put("v2/box/memory.events", "low 0\nhigh 0\nmax 7\noom 3\noom_kill 3\noom_group_kill 0\n");
  tree.put("v2/box/io.stat", "8:0 rbytes=8192 wbytes=8192 rios=1 wios=2\n259:1 rbytes=1 wbytes=12\n");
  ticking.tick(columns);
  expect_row(columns, {{"cpu_usage", 1.5},
                       {"utime", 1},
                       {"stime", 0.5},
                       {"throttled_time", 0.25},
                       {"throttled_periods", 2},
                       {"memory_mib", 100},
                       {"memory_peak_mib", 200},
                       {"memory_limit_mib", 256},
                       {"disk_read_bytes", 4096},
                       {"disk_write_bytes", 10},
                       {"oom_kills", 2}});
}

// The mark is read once a second only; a row in between must not show less than what is charged.
TEST(CgroupProbe, ThePeakIsNeverBelowTheLevel) {
  Tree tree;
  tree.put("v2/cgroup.controllers", "memory\n");
  tree.put("v2/box/cgroup.type", "domain\n");
  tree.put("v2/box/memory.current", "1048576\n");
  tree.put("v2/box/memory.peak", "1048576\n");
  Ticking ticking;
  ticking.in_unified(tree, "v2/box");
  Columns columns = ticking.begin();
  tree.put("v2/box/memory.current", "104857600\n");
  tree.put("v2/box/memory.peak", "209715200\n");
  columns.read(ticking.stamp_ns += 100 * kNsPerMs);
  EXPECT_DOUBLE_EQ(columns["cgroup_memory_mib"], 100);
  EXPECT_DOUBLE_EQ(columns["cgroup_memory_peak_mib"], 100);
  ticking.tick(columns);
  EXPECT_DOUBLE_EQ(columns["cgroup_memory_peak_mib"], 200);
}

// The job's own cgroup has no controllers: memory, I/O and throttling are those of the container around it.
TEST(CgroupProbe, TakesWhatTheJobsOwnCgroupLacksFromItsAncestor) {
  Tree tree;
  tree.put("v2/cgroup.controllers", "cpu io memory\n");
  tree.put("v2/cpu.stat", "user_usec 1\nsystem_usec 1\nnr_throttled 77\nthrottled_usec 77\n");
  tree.put("v2/box/cgroup.type", "domain\n");
  tree.put("v2/box/cpu.stat", "user_usec 9\nsystem_usec 9\nnr_throttled 4\nthrottled_usec 500000\n");
  tree.put("v2/box/memory.current", "1048576\n");
  tree.put("v2/box/job/cgroup.type", "domain\n");
  tree.put("v2/box/job/cpu.stat", "usage_usec 30\nuser_usec 20\nsystem_usec 10\n");
  Ticking ticking;
  ticking.in_unified(tree, "v2/box/job");
  ticking.context.cgroup.job_only = true;
  Columns columns = ticking.begin();
  tree.put("v2/box/cpu.stat", "user_usec 9\nsystem_usec 9\nnr_throttled 5\nthrottled_usec 700000\n");
  tree.put("v2/box/job/cpu.stat", "usage_usec 1000030\nuser_usec 1000020\nsystem_usec 10\n");
  ticking.tick(columns);
  EXPECT_DOUBLE_EQ(columns["cgroup_utime"], 1);
  EXPECT_DOUBLE_EQ(columns["cgroup_throttled_periods"], 1);
  EXPECT_NEAR(columns["cgroup_throttled_time"], 0.2, 1e-9);
  EXPECT_DOUBLE_EQ(columns["cgroup_memory_mib"], 1);
  EXPECT_TRUE(is_absent(columns["cgroup_memory_peak_mib"]));
  EXPECT_TRUE(is_absent(columns["cgroup_memory_limit_mib"]));
  EXPECT_TRUE(is_absent(columns["cgroup_disk_read_bytes"]));
  EXPECT_TRUE(is_absent(columns["cgroup_oom_kills"]));
}

TEST(CgroupProbe, ReadsVersion1) {
  Tree tree;
  tree.put("cpuacct/release_agent", "");
  tree.put("cpuacct/box/cpuacct.usage", "3000000000\n");
  tree.put("cpuacct/box/cpuacct.stat", "user 200\nsystem 100\n");
  tree.put("cpu/box/cpu.stat", "nr_periods 5\nnr_throttled 1\nthrottled_time 1000000\n");
  tree.put("memory/box/memory.usage_in_bytes", "10485760\n");
  tree.put("memory/box/memory.max_usage_in_bytes", "20971520\n");
  tree.put("memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  tree.put("blkio/box/blkio.throttle.io_service_bytes", "8:0 Read 512\n8:0 Write 1024\n8:0 Total 1536\nTotal 1536\n");
  Ticking ticking;
  CgroupPaths& paths = ticking.context.cgroup;
  paths.cpuacct = tree.dir / "cpuacct/box";
  paths.mount_cpuacct = tree.dir / "cpuacct";
  paths.cpu = tree.dir / "cpu/box";
  paths.mount_cpu = tree.dir / "cpu";
  paths.memory = tree.dir / "memory/box";
  paths.mount_memory = tree.dir / "memory";
  paths.blkio = tree.dir / "blkio/box";
  paths.mount_blkio = tree.dir / "blkio";
  Columns columns = ticking.begin();
  tree.put("cpuacct/box/cpuacct.usage", "5000000000\n");
  tree.put("cpuacct/box/cpuacct.stat", "user 250\nsystem 250\n");
  tree.put("cpu/box/cpu.stat", "nr_periods 5\nnr_throttled 3\nthrottled_time 3000000\n");
  tree.put("memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  tree.put("blkio/box/blkio.throttle.io_service_bytes", "8:0 Read 1024\n8:0 Write 1024\n8:0 Total 2048\nTotal 2048\n");
  ticking.tick(columns);
  expect_row(columns, {{"cpu_usage", 2},
                       {"utime", 0.5},
                       {"stime", 1.5},
                       {"throttled_periods", 2},
                       {"throttled_time", 0.002},
                       {"memory_mib", 10},
                       {"memory_peak_mib", 20},
                       {"disk_read_bytes", 512},
                       {"disk_write_bytes", 0},
                       {"oom_kills", 1}});
}

// The job could not be started in the cgroup that was made for it: that one's zeros are not the job's.
TEST(CgroupProbe, FollowsTheJobToWhereItRuns) {
  Tree tree;
  tree.put("v2/cgroup.controllers", "cpu memory\n");
  for (const char* folder : {"v2/box/", "v2/box/tacho-1/"}) {
    tree.put(folder + std::string("cgroup.type"), "domain\n");
    tree.put(folder + std::string("cpu.stat"), "user_usec 0\nsystem_usec 0\n");
    tree.put(folder + std::string("memory.current"), "0\n");
  }
  Ticking ticking;
  ticking.in_unified(tree, "v2/box/tacho-1");
  ticking.context.cgroup.job_only = true;
  Columns columns = ticking.begin();
  tree.put("v2/box/cpu.stat", "user_usec 7000000\nsystem_usec 2000000\n");
  tree.put("v2/box/memory.current", "104857600\n");
  ticking.context.cgroup.job_only = false;
  ticking.context.cgroup.unified = tree.dir / "v2/box";
  ticking.tick(columns);  // the baseline there
  EXPECT_DOUBLE_EQ(columns["cgroup_memory_mib"], 100);
  tree.put("v2/box/cpu.stat", "user_usec 7500000\nsystem_usec 2250000\n");
  ticking.tick(columns);
  EXPECT_DOUBLE_EQ(columns["cgroup_utime"], 0.5);
  EXPECT_DOUBLE_EQ(columns["cgroup_cpu_usage"], 0.75);
  // At the machine's top there is nothing that would be the job's.
  ticking.context.cgroup.unified = tree.dir / "v2";
  for (int i = 0; i < 2; ++i) ticking.tick(columns);
  for (const Column& column : kCgroupProbe.columns) EXPECT_TRUE(is_absent(columns[column.name])) << column.name;
}

TEST(CgroupProbe, AReadingThatFailsLosesNothing) {
  Tree tree;
  tree.put("v2/cgroup.controllers", "cpu io memory\n");
  tree.put("v2/box/cgroup.type", "domain\n");
  tree.put("v2/box/memory.current", "4096\n");
  const auto write = [&](int64_t n) {
    tree.put("v2/box/cpu.stat", "user_usec " + std::to_string(100'000 * n) + "\nsystem_usec 0\nnr_throttled " +
                                    std::to_string(n) + "\nthrottled_usec 0\n");
    tree.put("v2/box/io.stat", "8:0 rbytes=" + std::to_string(4096 * n) + " wbytes=0\n");
    tree.put("v2/box/memory.events", "oom_kill " + std::to_string(n) + "\n");
  };
  write(0);
  Ticking ticking;
  ticking.in_unified(tree, "v2/box");
  Columns columns = ticking.begin();
  double cpu_s = 0, read = 0, kills = 0;
  for (int64_t n = 1; n <= 6; ++n) {
    write(n);
    const bool fails = n == 2 || n == 4 || n == 5;
    if (fails)
      for (const char* file : {"cpu.stat", "memory.events"}) tree.put("v2/box/" + std::string(file), "");
    ticking.tick(columns);
    EXPECT_EQ(is_absent(columns["cgroup_utime"]), fails) << n;
    EXPECT_EQ(is_absent(columns["cgroup_oom_kills"]), fails) << n;
    read += columns["cgroup_disk_read_bytes"];  // one file that fails hides no other
    if (fails) continue;
    EXPECT_NEAR(columns["cgroup_cpu_usage"], 0.1, 1e-9) << n;
    cpu_s += columns["cgroup_utime"];
    kills += columns["cgroup_oom_kills"];
  }
  EXPECT_NEAR(cpu_s, 0.6, 1e-9);
  EXPECT_EQ(kills, 6);
  EXPECT_EQ(read, 6 * 4096);
}

TEST(CgroupProbe, TheMachinesTopIsNoContainer) {
  Tree tree;
  tree.put("v2/cgroup.controllers", "cpu io memory\n");
  tree.put("v2/cpu.stat", "user_usec 1\nsystem_usec 1\n");
  tree.put("cpuacct/release_agent", "");
  tree.put("cpuacct/cpuacct.usage", "1\n");
  Ticking ticking;
  ticking.context.cgroup.unified = ticking.context.cgroup.mount_unified = tree.dir / "v2";
  ticking.context.cgroup.cpuacct = ticking.context.cgroup.mount_cpuacct = tree.dir / "cpuacct";
  EXPECT_FALSE(Columns(kCgroupProbe, ticking.context).made());
}

TEST(Cpuacct, IsExactAndNeverFalls) {
  Tree tree;
  tree.put("box/cpuacct.usage", "1000\n");
  Cpuacct cpuacct(tree.dir / "box");
  ReadBuffer buffer;
  int64_t user_ns = -1, system_ns = -1;
  ASSERT_TRUE(cpuacct.read(buffer, user_ns, system_ns));  // without cpuacct.stat all of it is the user's
  EXPECT_EQ(user_ns, 1000);
  EXPECT_EQ(system_ns, 0);
  tree.put("box/cpuacct.stat", "user 1\nsystem 9\n");
  tree.put("box/cpuacct.usage", "2000\n");
  ASSERT_TRUE(cpuacct.read(buffer, user_ns, system_ns));
  EXPECT_EQ(user_ns, 1000) << "what was told before stands";
  EXPECT_EQ(system_ns, 1000);
  tree.put("box/cpuacct.usage", "nonsense\n");
  EXPECT_FALSE(cpuacct.read(buffer, user_ns, system_ns));
  EXPECT_FALSE(Cpuacct().read(buffer, user_ns, system_ns));
}

}  // namespace
}  // namespace tacho
