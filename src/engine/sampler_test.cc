#include "engine/sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/units.h"
#include "engine/outcome.h"
#include "engine/outputs.h"
#include "model/summary.h"
#include "probe/process_tree.h"
#include "support/count_allocations.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// The contract's header, letter by letter.
constexpr std::string_view kHeader =
    "timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,system_memory_used_mib,"
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
  auto sampler = sampler_for(context, {{}, {"disk", "memory", "net", "gpu", "cpu", "load", "cgroup"}, false}, clock);
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

TEST(Sampler, TimestampsIncreaseWhateverTheClockDoes) {
  TickClock clock;
  ProbeContext context;
  const auto sampler = sampler_for(context, {{}, {}, true}, clock);
  sampler->baseline();
  Row row;
  int64_t last = 0;
  for (const int64_t step_s : {1, -3600, 0, 5, -1, 86400, 1}) {
    clock.real_ns += step_s * kNsPerSec;
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
  ASSERT_TRUE(tree.follow(::getpid() == 1 ? 1 : ::getppid(), false));
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
  ASSERT_TRUE(outputs.begin(run, sampler->schema()));
  sampler->baseline();
  Row row;
  const auto tick = [&] {
    clock.mono_ns += kNsPerSec;
    clock.real_ns += kNsPerSec;
    sampler->sample(row, false);
    summary.add(row);
    totals.update(run, summary, &tree, context);
    outputs.write(row, nullptr);
  };
  for (int i = 0; i < 50; ++i) tick();
  const int64_t before = allocations;
  for (int i = 0; i < 500; ++i) tick();
  EXPECT_LE(allocations - before, allowed);
  EXPECT_FALSE(outputs.failed());
}

}  // namespace
}  // namespace tacho
