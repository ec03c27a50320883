#include "engine/sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>

#include "base/units.h"
#include "engine/outcome.h"
#include "engine/outputs.h"
#include "engine/run_record.h"
#include "model/summary.h"
#include "probe/tree/process_tree.h"
#include "support/count_allocations.h"
#include "support/probe_bench.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// The contract's header, letter by letter.
constexpr std::string_view kHeader =
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,system_memory_used_"
    "mib,"
    "system_memory_buffers_mib,system_memory_cached_mib,system_memory_active_mib,system_memory_inactive_mib,"
    "system_disk_read_bytes,system_disk_write_bytes,system_disk_space_total_gb,system_disk_space_used_gb,"
    "system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,system_gpu_usage,system_gpu_vram_mib,"
    "system_gpu_utilized,process_pid,process_children,process_utime,process_stime,process_cpu_usage,process_memory_mib,"
    "process_disk_read_bytes,process_disk_write_bytes,process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized";

std::string header_of(const Schema& schema) {
  std::string text;
  for (const Column& column : schema) {
    if (!text.empty()) text += ',';
    text += column.name;
  }
  return text;
}

// Time as a test wants it.
class TickClock final : public Clock {
 public:
  int64_t mono_ns = 1'000'000'000, real_ns = 1'800'000'000'000'000'000;
  int64_t monotonic_ns() override { return mono_ns; }
  int64_t realtime_ns() override { return real_ns; }
  int wait(std::span<pollfd>, int64_t deadline_ns) override {
    real_ns += std::max<int64_t>(0, deadline_ns - mono_ns);
    mono_ns = std::max(mono_ns, deadline_ns);
    return 0;
  }
};

std::unique_ptr<Sampler> sampler_for(ProbeContext& context, const ProbeChoice& choice, Clock& clock) {
  auto sampler = Sampler::create(context, choice, clock);
  EXPECT_TRUE(sampler) << (sampler ? "" : sampler.error().message());
  return std::move(*sampler);
}

TEST(Sampler, TheCompatibleColumnsComeFirst) {
  TickClock clock;
  ProbeContext context;
  EXPECT_TRUE(header_of(sampler_for(context, {}, clock)->schema()).starts_with(std::string(kHeader) + ","));
  EXPECT_EQ(header_of(sampler_for(context, {{}, {}, true}, clock)->schema()), kHeader);
}

TEST(Sampler, AProbeThatIsOffLeavesItsCompatibleColumnsEmpty) {
  TickClock clock;
  ProbeContext context;
  auto sampler = sampler_for(
      context, {{}, {"disk", "memory", "net", "gpu", "cpu", "load", "cgroup", "pressure", "swap"}, false}, clock);
  EXPECT_TRUE(header_of(sampler->schema()).starts_with(kHeader));
  sampler->baseline();
  Row row;
  sampler->sample(row, false);
  EXPECT_FALSE(is_absent(row.cells[0]));
  for (size_t i = 1; i < row.cells.size(); ++i) EXPECT_TRUE(is_absent(row.cells[i])) << sampler->schema()[i].name;
}

TEST(Sampler, ExtendedColumnsStandInTheirOrder) {
  TickClock clock;
  ProbeContext context;
  ProbeChoice choice;
  for (const ProbeInfo& probe : all_probes()) choice.on.emplace_back(probe.name);
  const auto sampler = sampler_for(context, choice, clock);
  int last = 0;
  for (const Column& column : sampler->schema()) {
    EXPECT_GT(column.position, last) << column.name;
    last = column.position;
  }
}

TEST(Sampler, UnknownProbeNamesTheNearest) {
  TickClock clock;
  ProbeContext context;
  const auto sampler = Sampler::create(context, {{"memroy"}, {}, false}, clock);
  ASSERT_FALSE(sampler);
  EXPECT_NE(sampler.error().message().find("memory"), std::string::npos);
}

TEST(Sampler, TheOlderClientsMemoryIsWhole) {
  TickClock clock;
  ProbeContext context;
  for (const bool compatible : {false, true}) {
    const auto sampler = sampler_for(context, {{}, {}, compatible}, clock);
    for (const Column& column : sampler->schema()) {
      const int position = column.position;
      const int decimals = position >= 6 && position <= 11    ? (compatible ? 0 : 1)
                           : position >= 14 && position <= 16 ? 3
                           : position == 27                   ? (compatible ? 0 : 3)
                                                              : column.decimals;
      EXPECT_EQ(column.decimals, decimals) << column.name;
    }
  }
}

// An hour back: one row still comes after the last, the next has the new time, and run.json says so. No time comes
// twice.
TEST(Sampler, AClockThatIsSetBackIsFollowedInTheNextRow) {
  TickClock clock;
  ProbeContext context;
  const auto sampler = sampler_for(context, {{}, {}, true}, clock);
  sampler->baseline();
  Row row;
  std::set<int64_t> microseconds;
  const auto tick = [&](int64_t step_ns) {
    clock.real_ns += step_ns;
    clock.mono_ns += kNsPerSec;
    sampler->sample(row, false);
    EXPECT_TRUE(microseconds.insert(row.realtime_ns / kNsPerUs).second);
    EXPECT_EQ(row.interval_ns, kNsPerSec);
    return row.realtime_ns / kNsPerMs;
  };
  const int64_t first = tick(kNsPerSec);
  EXPECT_TRUE(context.notes.empty());
  EXPECT_EQ(tick(-3599 * kNsPerSec), first + 1);
  ASSERT_EQ(context.notes.size(), 1u);
  EXPECT_NE(context.notes[0].find("set back by 3600 s"), std::string::npos) << context.notes[0];
  for (int64_t i = 1; i <= 3700; ++i) EXPECT_EQ(tick(kNsPerSec), first + (i - 3599) * 1000);
  EXPECT_EQ(context.notes.size(), 1u);
  // A step that the next interval makes up for is no news.
  const int64_t last = row.realtime_ns / kNsPerMs;
  EXPECT_EQ(tick(-kNsPerSec / 2), last + 1);
  EXPECT_GT(tick(kNsPerSec), last + 1);
  EXPECT_EQ(context.notes.size(), 1u);
}

// What an interval added is in the next row that can be read, in every probe that counts.
TEST(Sampler, AReadingThatFailsLosesNothing) {
  KernelTree kernel("x86_vm");
  TickClock clock;
  ProbeContext context;
  context.roots = kernel.roots();
  ProbeChoice choice;
  choice.on = {"vmstat", "pressure"};
  choice.off = {"gpu", "process", "cgroup"};
  const auto sampler = sampler_for(context, choice, clock);
  const auto write = [&](int64_t n) {
    const std::string ticks = std::to_string(1000 + 10 * n), bytes = std::to_string(1'000'000 + 4096 * n);
    kernel.write("proc/stat", "cpu  " + ticks + " 0 500 9000 0 0 0 0 0 0\ncpu0 " + ticks +
                                  " 0 500 9000 0 0 0 0 0 0\nctxt " + ticks + "\nbtime 1\nprocesses 10\n");
    kernel.write("proc/vmstat", "pgmajfault " + ticks + "\n");
    kernel.write("proc/net/dev", "Inter-|\n face |\n  eth0: " + bytes + " 1 0 0 0 0 0 0 " + bytes + " 1 0 0 0 0 0 0\n");
    kernel.write("proc/pressure/cpu",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(100'000 * n) + "\n");
  };
  Row row;
  std::map<std::string, double> sums;
  int64_t empty = 0;
  const auto cell = [&](std::string_view name) {
    for (size_t i = 0; i < row.cells.size(); ++i)
      if (sampler->schema()[i].name == name) return row.cells[i];
    return kAbsent;
  };
  constexpr std::array kColumns{"system_utime", "system_ctxt_switches", "system_major_page_faults",
                                "system_net_recv_bytes"};
  write(0);
  sampler->baseline();
  for (int64_t n = 1; n <= 9; ++n) {
    write(n);
    // Every third reading fails, the fourth and the fifth in a row.
    const bool fails = n == 2 || n == 4 || n == 5;
    if (fails)
      for (const char* path : {"proc/stat", "proc/vmstat", "proc/net/dev", "proc/pressure/cpu"}) kernel.write(path, "");
    clock.mono_ns += kNsPerSec;
    sampler->sample(row, false);
    for (const char* name : kColumns) {
      if (is_absent(cell(name))) ++empty;
      else sums[name] += cell(name);
    }
    EXPECT_EQ(is_absent(cell("system_utime")), fails) << n;
    // A share of the time is one of all the time since it was read last: never twice as much.
    EXPECT_NEAR(fails ? 0.1 : cell("system_pressure_cpu_some"), 0.1, 1e-9) << n;
    EXPECT_NEAR(fails ? 1 : cell("system_cpu_usage"), 1, 1e-9) << n;
  }
  EXPECT_EQ(empty, 3 * static_cast<int64_t>(kColumns.size()));
  EXPECT_NEAR(sums["system_utime"], 0.9, 1e-9);
  EXPECT_EQ(sums["system_ctxt_switches"], 90);
  EXPECT_EQ(sums["system_major_page_faults"], 90);
  EXPECT_EQ(sums["system_net_recv_bytes"], 9 * 4096);
}

TEST(Sampler, TimestampsIncreaseWhateverTheClockDoes) {
  TickClock clock;
  ProbeContext context;
  const auto sampler = sampler_for(context, {{}, {}, true}, clock);
  sampler->baseline();
  Row row;
  int64_t last = 0;
  for (const int64_t step_ms :
       {1000, -900, 0, 5000, -999, 86400000, 1}) {  // as long as the next interval makes up for it
    clock.real_ns += step_ms * kNsPerMs;
    clock.mono_ns += kNsPerSec;
    sampler->sample(row, false);
    EXPECT_GE(row.realtime_ns / kNsPerMs, last + 1);
    EXPECT_EQ(row.interval_ns, kNsPerSec) << "an interval is monotonic time";
    last = row.realtime_ns / kNsPerMs;
  }
}

// Everything a tick does, over the real kernel: sampling a job, folding, writing the store.
TEST(Tick, SteadyTicksDoNotAllocate) {
#ifdef TACHO_SANITIZED
  const int64_t allowed = INT64_MAX;  // the sanitizer's own allocator is not counted
#else
  const int64_t allowed = 0;
#endif
  const TempDir dir;
  TickClock clock;
  ProbeContext context;
  ProcessTree tree(context);
  context.tree = &tree;
  context.job_pids = &tree;
  auto sampler = sampler_for(context, {}, clock);
  tacho::Run run;
  run.mode = "attach";
  Summary summary;
  summary.begin(sampler->schema());
  TotalsKeeper totals;
  totals.begin(sampler->schema());
  Settings settings;
  settings.store_dir = dir / "store";
  Outputs outputs;
  ASSERT_TRUE(outputs.open_run_store(settings, run, summary));
  RunRecord record;
  record.open(settings, outputs.store_folder(), run, &tree, context);
  ASSERT_TRUE(tree.follow(::getpid() == 1 ? 1 : ::getppid(), false));
  ASSERT_TRUE(outputs.begin(run, sampler->schema()));
  sampler->baseline();
  record.begin(*sampler, run);
  Row row;
  const auto tick = [&] {
    clock.mono_ns += kNsPerSec;
    clock.real_ns += kNsPerSec;
    sampler->sample(row, false);
    summary.add(row);
    totals.update(run, summary, &tree, context);
    outputs.write(row, nullptr);
    record.tick(*sampler, row, false);
  };
  for (int i = 0; i < 50; ++i) tick();
  const int64_t before = allocations;
  for (int i = 0; i < 500; ++i) tick();
  EXPECT_LE(allocations - before, allowed);
  EXPECT_FALSE(outputs.failed());
  EXPECT_TRUE(record.has_processes());
}

}  // namespace
}  // namespace tacho
