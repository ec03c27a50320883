// load, cpu, memory, vmstat and pressure over captured kernel trees.
#include "probe/system.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "support/probe_bench.h"

namespace tacho {
namespace {

double ticks_s(int64_t ticks) { return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

TEST(CpuProbe, DerivesTimesAndCores) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kCpuProbe, tree.roots());
  bench.tick();
  EXPECT_TRUE(is_absent(bench.cell("system_utime")));  // one reading has no interval
  EXPECT_TRUE(is_absent(bench.cell("system_cpu_usage")));
  tree.replace("proc/stat", "cpu  3160 40 1986 212383 341 7 35 17", "cpu  3260 50 2006 212443 344 7 38 21");
  tree.replace("proc/stat", "ctxt 335970", "ctxt 336000");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_utime"), ticks_s(110));
  EXPECT_DOUBLE_EQ(bench.cell("system_stime"), ticks_s(20));
  EXPECT_DOUBLE_EQ(bench.cell("system_iowait"), ticks_s(3));
  EXPECT_DOUBLE_EQ(bench.cell("system_steal"), ticks_s(4));
  EXPECT_DOUBLE_EQ(bench.cell("system_ctxt_switches"), 30);
  // busy 110+20+3 of 200 ticks in all (60 idle, 3 iowait, 4 steal), on two cores.
  EXPECT_DOUBLE_EQ(bench.cell("system_cpu_usage"), 2 * 133.0 / 200.0);
  EXPECT_EQ(bench.context.facts.forks, 5465);
}

TEST(CpuProbe, IowaitThatStepsBackAddsNothing) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kCpuProbe, tree.roots());
  bench.tick();
  tree.replace("proc/stat", "212383 341 ", "212383 331 ");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_iowait"), 0);
  EXPECT_DOUBLE_EQ(bench.cell("system_cpu_usage"), 0);
  tree.replace("proc/stat", "212383 331 ", "212383 342 ");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_iowait"), ticks_s(1));  // not 11: ten of them were counted before
}

TEST(CpuProbe, CountersThatBeginAnewAreFollowed) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kCpuProbe, tree.roots());
  bench.tick();
  tree.write("proc/stat", "cpu  10 0 10 100 0 0 0 0\ncpu0 10 0 10 100 0 0 0 0\n");
  bench.tick();
  tree.write("proc/stat", "cpu  20 0 10 110 0 0 0 0\ncpu0 10 0 10 100 0 0 0 0\n");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_cpu_usage"), 0.5);
}

TEST(CpuProbe, CountsTheNamesInProc) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kCpuProbe, tree.roots());
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_processes"), 4);
  tree.write("proc/99/comm", "x\n");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_processes"), 5);
  tree.remove("proc/99");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_processes"), 4);
}

TEST(CpuProbe, LinkCountOfTheRealProcFollowsProcesses) {
  ProbeBench bench(kCpuProbe, Roots{});
  bench.tick();
  bench.tick();
  // Others come and go meanwhile: what is listed just before and after is the measure, and a busy moment gets another
  // chance.
  const auto listed = [] {
    int count = 0;
    list_directory("/proc", [&](std::string_view name) { count += parse_int<int>(name).has_value() ? 1 : 0; });
    return count;
  };
  const auto follows = [&] {
    for (int i = 0; i < 20; ++i) {
      const int before = listed();
      bench.tick();
      const int after = listed();
      const double seen = bench.cell("system_processes");
      if (seen >= std::min(before, after) - 3 && seen <= std::max(before, after) + 3) return true;
    }
    return false;
  };
  EXPECT_TRUE(follows());
  std::vector<pid_t> children;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    children.push_back(child);
  }
  EXPECT_TRUE(follows());
  for (const pid_t child : children) ::kill(child, SIGKILL), ::waitpid(child, nullptr, 0);
}

TEST(CpuProbe, ListsCoresWhenAsked) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kCpuProbe, tree.roots());
  bench.tick();
  for (int i = 0; i < 2; ++i) {
    const Detail detail = bench.detail();
    ASSERT_EQ(detail.cores.size(), 2u);
    EXPECT_EQ(detail.cores[0].busy_ns, (743 + 10 + 664 + 3 + 5) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
    bench.tick();
  }
}

TEST(CpuProbe, NoFileIsEmptyNotZero) {
  ProbeBench bench(kCpuProbe, {"/nonexistent", "/nonexistent", "/nonexistent"});
  bench.tick();
  bench.tick();
  for (const Column& column : kCpuProbe.columns) EXPECT_TRUE(is_absent(bench.cell(column.name))) << column.name;
  EXPECT_FALSE(kCpuProbe.check(bench.context.roots));
  EXPECT_EQ(bench.detail().cores.size(), 0u);
}

TEST(LoadProbe, ReadsTheFileOfAnotherTree) {
  KernelTree tree("x86_vm");
  tree.write("proc/loadavg", "3.25 0.04 0.02 4/90 5476\n");
  ProbeBench bench(kLoadProbe, tree.roots());
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_load1"), 3.25);
  tree.write("proc/loadavg", "3.31 0.05 0.02 4/90 5476\n");  // a level is that of its tick, however soon it comes
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_load1"), 3.31);
}

TEST(LoadProbe, TheCallSaysWhatTheFileSays) {
  ProbeBench bench(kLoadProbe, Roots{});
  double file = -1;
  // The kernel renews both every five seconds; the second look is not at that moment again.
  for (int i = 0; i < 2 && file != bench.cell("system_load1"); ++i) {
    bench.tick();
    file = std::stod(slurp("/proc/loadavg"));
  }
  EXPECT_DOUBLE_EQ(bench.cell("system_load1"), file);
}

TEST(MemoryProbe, PrintsMiB) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kMemoryProbe, tree.roots());
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_free_mib"), 24429908 / 1024.0);
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_used_mib"), (24684100 - 24368224) / 1024.0);
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_buffers_mib"), 1740 / 1024.0);
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_cached_mib"), (72756 + 56892) / 1024.0);
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_active_mib"), 42476 / 1024.0);
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_inactive_mib"), 28008 / 1024.0);
  const Detail detail = bench.detail();
  EXPECT_EQ(detail.memory.total_bytes, int64_t{24684100} * 1024);
  EXPECT_EQ(detail.memory.available_bytes, int64_t{24368224} * 1024);
  EXPECT_EQ(detail.memory.swap_free_bytes, int64_t{2097140} * 1024);
}

// On a machine of 2 TiB the smallest change still shows: what was read is what is said, in rows, lists and the last row
// alike.
TEST(MemoryProbe, EveryLevelIsAsReadAlsoOnALargeMachine) {
  KernelTree tree("x86_vm");
  constexpr int64_t kTotalKib = int64_t{2} << 30;
  const auto memory = [&](int64_t moved_kib) {
    const auto line = [&](const char* name, int64_t kib) {
      return std::string(name) + ": " + std::to_string(kib) + " kB\n";
    };
    tree.write("proc/meminfo",
               line("MemTotal", kTotalKib) + line("MemFree", kTotalKib / 4 + moved_kib) +
                   line("MemAvailable", kTotalKib / 2 + moved_kib) + line("Buffers", kTotalKib / 8 + moved_kib) +
                   line("Cached", kTotalKib / 8 + moved_kib) + line("Active", kTotalKib / 16 + moved_kib) +
                   line("Inactive", kTotalKib / 16 + moved_kib));
  };
  memory(0);
  ProbeBench bench(kMemoryProbe, tree.roots());
  for (const int64_t moved_kib : {103, -51, 1024, 7, 6}) {
    memory(moved_kib);
    bench.tick();
    const auto mib = [&](int64_t kib) { return static_cast<double>(kib) / 1024.0; };
    EXPECT_DOUBLE_EQ(bench.cell("system_memory_free_mib"), mib(kTotalKib / 4 + moved_kib));
    EXPECT_DOUBLE_EQ(bench.cell("system_memory_used_mib"), mib(kTotalKib / 2 - moved_kib));
    EXPECT_DOUBLE_EQ(bench.cell("system_memory_buffers_mib"), mib(kTotalKib / 8 + moved_kib));
    EXPECT_DOUBLE_EQ(bench.cell("system_memory_cached_mib"), mib(kTotalKib / 8 + moved_kib));
    EXPECT_DOUBLE_EQ(bench.cell("system_memory_active_mib"), mib(kTotalKib / 16 + moved_kib));
    EXPECT_DOUBLE_EQ(bench.cell("system_memory_inactive_mib"), mib(kTotalKib / 16 + moved_kib));
    EXPECT_EQ(bench.detail().memory.buffers_bytes, (kTotalKib / 8 + moved_kib) * 1024);
  }
}

TEST(MemoryProbe, MissingLinesAreEmpty) {
  KernelTree tree("x86_vm");
  tree.write("proc/meminfo", "MemTotal: 1024 kB\nMemFree: 512 kB\n");
  ProbeBench bench(kMemoryProbe, tree.roots());
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_memory_used_mib"), 0.5);
  EXPECT_TRUE(is_absent(bench.cell("system_memory_active_mib")));
  EXPECT_FALSE(bench.detail().memory.available_bytes.has_value());
}

TEST(VmstatProbe, CountsMajorFaults) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kVmstatProbe, tree.roots());
  bench.tick();
  tree.replace("proc/vmstat", "pgmajfault 1181", "pgmajfault 1200");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_major_page_faults"), 19);
}

TEST(PressureProbe, IsAShareOfTheInterval) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kPressureProbe, tree.roots());
  bench.tick();
  tree.replace("proc/pressure/cpu", "total=5762077", "total=6012077");
  tree.replace("proc/pressure/io", "total=3259585", "total=9259585");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_pressure_cpu_some"), 0.25);
  EXPECT_DOUBLE_EQ(bench.cell("system_pressure_io_some"), 1);  // never more than the whole
  EXPECT_DOUBLE_EQ(bench.cell("system_pressure_memory_full"), 0);
  tree.replace("proc/pressure/cpu", "total=6012077", "total=12077");
  bench.tick();
  EXPECT_TRUE(is_absent(bench.cell("system_pressure_cpu_some")));  // went back
  EXPECT_FALSE(kPressureProbe.check({"/nonexistent", "/nonexistent", "/nonexistent"}));
}

TEST(SystemProbes, ColumnsAreWellFormed) {
  std::vector<int> positions;
  for (const ProbeInfo* info :
       {&kLoadProbe, &kCpuProbe, &kMemoryProbe, &kVmstatProbe, &kDiskProbe, &kNetProbe, &kPressureProbe})
    for (const Column& column : info->columns) {
      positions.push_back(column.position);
      EXPECT_LT(column.field, kMaxFields);
      EXPECT_EQ(column.derive != nullptr, column.rule == Rule::custom) << column.name;
      EXPECT_TRUE(column.name.starts_with("system_")) << column.name;
      EXPECT_TRUE(column.help.ends_with(".")) << column.name;
    }
  std::sort(positions.begin(), positions.end());
  EXPECT_EQ(std::adjacent_find(positions.begin(), positions.end()), positions.end());
}

}  // namespace
}  // namespace tacho
