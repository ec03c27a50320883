#include "monitor/tables/rows.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "monitor/schedule.h"
#include "monitor/task_meta.h"
#include "monitor/text_log.h"
#include "support/sample_run.h"

namespace tacho {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson metrics_row(const MetricsSample& sample) {
  Writer out;
  write_metrics_row(out, sample);
  return OrderedJson::parse(out.view());
}

TEST(MetricsRow, UnknownIsLeftOut) {
  MetricsSample sample;
  sample.realtime_ns = kSampleStartNs + 123'456'789;
  const OrderedJson row = metrics_row(sample);
  EXPECT_EQ(row.dump(), R"({"timestamp":"2026-11-15T09:30:00.373456Z","seq":0,"rows_dropped":0})");
}

TEST(MetricsRow, FormulasOfTheContract) {
  MetricsSample sample;
  const std::vector<double> cores{12.5, 100};
  sample.cpu_used_percent = cores;
  sample.memory.total_bytes = 16'000'000 * int64_t{1024};
  sample.memory.free_bytes = 4'000'000 * int64_t{1024};
  sample.memory.buffers_bytes = 1'000'000 * int64_t{1024};
  sample.memory.cached_bytes = 5'000'000 * int64_t{1024};  // with SReclaimable
  std::vector<DiskValues> disks(2);
  disks[0] = {"/a", "sdb", true, 100, 30.5, 12, 3, 1.5, 0.25, 40};
  sample.disks = disks;
  sample.event = "final";
  sample.seq = int64_t{1} << 60;
  const OrderedJson row = metrics_row(sample);
  EXPECT_EQ(row["cpu_used_percent"].dump(), "[12.5,100]");
  EXPECT_DOUBLE_EQ(row["mem_used_gb"].get<double>(), 6.144);
  EXPECT_EQ(row["disk_used_gb"].dump(), "[30.5,0]");
  EXPECT_EQ(row["disk_read_iops"].dump(), "[12,0]");
  EXPECT_EQ(row["disk_write_iops"].dump(), "[3,0]");
  EXPECT_EQ(row["disk_ok"].dump(), "[true,false]");
  EXPECT_EQ(row["disk_busy_percent"].dump(), "[40,0]");
  EXPECT_EQ(row["event"], "final");
  EXPECT_EQ(row["seq"], "1152921504606846976") << "beyond 2^53 as text";
  EXPECT_FALSE(row.contains("swap_used_gb"));
}

TEST(MetricsRow, MemoryHasAFloor) {
  MemoryDetail memory;
  EXPECT_EQ(used_memory_gb(memory), std::nullopt);
  memory.total_bytes = 100;
  memory.free_bytes = 90;
  memory.cached_bytes = 50;
  EXPECT_EQ(used_memory_gb(memory), 0.0);
}

TEST(MetricsRow, AnArrayHasNoGaps) {
  MetricsSample sample;
  std::vector<GpuDetail> gpus(2);
  gpus[0].utilization_pct = 50;
  gpus[0].vram_used_bytes = gpus[1].vram_used_bytes = 2'000'000'000;
  sample.gpus = gpus;
  const std::vector<double> cores{0.0 / 0.0, 1};
  sample.cpu_used_percent = cores;
  const OrderedJson row = metrics_row(sample);
  EXPECT_FALSE(row.contains("gpu_used_percent")) << "one GPU did not tell";
  EXPECT_EQ(row["gpu_mem_used_gb"].dump(), "[2,2]");
  EXPECT_FALSE(row.contains("gpu_power_w"));
  EXPECT_FALSE(row.contains("cpu_used_percent")) << "no NaN in JSON";
}

TEST(RuntimeRow, TellsTheMachine) {
  RuntimeFacts facts;
  facts.run_id = "0011223344556677";
  facts.form = "script";
  facts.cpu_count = 4;
  facts.start_realtime_ns = kSampleStartNs;
  facts.mem_total_bytes = int64_t{15'624'996} * 1024;
  facts.boot_time_s = 1'794'700'000;
  std::vector<DiskValues> disks(1);
  disks[0].mount = "/mnt/disks/a \"b\"";
  disks[0].total_gb = 10.5;
  facts.disks = disks;
  Writer out;
  write_runtime_row(out, facts);
  const OrderedJson row = OrderedJson::parse(out.view());
  EXPECT_EQ(row["cpu_count"], 4);
  EXPECT_DOUBLE_EQ(row["mem_total_gb"].get<double>(), 15.999996);
  EXPECT_EQ(row["disk_mounts"][0], "/mnt/disks/a \"b\"");
  EXPECT_EQ(row["disk_total_gb"].dump(), "[10.5]");
  EXPECT_EQ(row["disk_devices"].dump(), R"([""])") << "same length, though unknown";
  EXPECT_EQ(row["start_time"], "2026-11-15T09:30:00.250000Z");
  EXPECT_EQ(row["monitor_form"], "script");
  EXPECT_FALSE(row.contains("gpu_count") || row.contains("mem_limit_gb") || row.contains("cpu_limit"));
}

TEST(TaskMeta, NamesTaskAndPlaceAndNoSecret) {
  MonitorSettings settings;
  settings.bigquery.dataset = "d";
  settings.given.project_id = "p";
  settings.task.task_call_name = "a.b-c";
  settings.task.shard = -1;
  MachineIdentity fallback;
  fallback.instance_id = 7;
  const OrderedJson meta = OrderedJson::parse(task_meta(settings, fallback, "r", true));
  EXPECT_EQ(meta["kind"], "bigquery");
  EXPECT_EQ(meta["destination"]["tables"].dump(), R"({"R":"runtime","M":"metrics"})");
  EXPECT_EQ(meta["destination"]["project"], "p");
  EXPECT_EQ(meta["destination"]["create"], "auto");
  EXPECT_EQ(meta["task"].dump(), R"({"task_call_name":"a.b-c","shard":-1})");
  EXPECT_EQ(meta["metrics"].dump(), R"({"task_call_name":"a.b-c","shard":-1,"run_id":"r"})");
  EXPECT_EQ(meta["fallback"]["instance_id"], 7);
  EXPECT_EQ(meta["ended"], true);
}

TEST(TaskMeta, RowsInAFileSayWhoseTheyAre) {
  MonitorSettings settings;
  EXPECT_EQ(local_members(settings, {}, "r", 'R'), "") << "nothing is known, nothing is said";
  settings.given.zone = "z";
  settings.given.instance_id = (int64_t{1} << 53) + 1;
  settings.given.preemptible = false;
  settings.task.workflow_id = "w\"";
  settings.task.shard = -1;
  MachineIdentity fallback;
  fallback.instance_id = 7;
  fallback.instance_name = "host";
  EXPECT_EQ(
      local_members(settings, fallback, "r", 'R'),
      R"("zone":"z","instance_id":"9007199254740993","instance_name":"host","preemptible":false,"workflow_id":"w\"","shard":-1,)");
  settings.given = {};
  EXPECT_EQ(local_members(settings, fallback, "r", 'M'),
            R"("instance_id":7,"workflow_id":"w\"","shard":-1,"run_id":"r",)");
}

TEST(TaskMeta, TheMachineHasANumberOfItsOwn) {
  Roots roots;
  roots.proc = std::string(TACHO_FIXTURES) + "/x86_vm/proc";
  roots.etc = std::string(TACHO_FIXTURES) + "/x86_vm/etc";
  const MachineIdentity identity = local_identity(roots, "Some CPU");
  ASSERT_TRUE(identity.instance_id);
  EXPECT_GT(*identity.instance_id, 0);
  EXPECT_EQ(local_identity(roots, "").instance_id, identity.instance_id);
  EXPECT_EQ(identity.cpu_platform, "Some CPU");
  EXPECT_EQ(identity.instance_name.value_or("").find('.'), std::string::npos);
}

TEST(TextLog, IsWhatToolsRead) {
  RuntimeFacts facts;
  facts.cpu_count = 2;
  facts.mem_total_bytes = 8'000'000'000;
  std::vector<DiskValues> disks(1);
  disks[0].total_gb = 50;
  disks[0].used_gb = 5;
  facts.disks = disks;
  Writer out;
  put_log_header(out, facts, 0);
  MetricsSample sample;
  sample.realtime_ns = kSampleStartNs - 6 * 24 * 3600 * kNsPerSec;
  const std::vector<double> cores{50, 100};
  sample.cpu_used_percent = cores;
  sample.memory.total_bytes = 8'000'000'000;
  sample.memory.free_bytes = 6'000'000'000;
  sample.disks = disks;
  put_log_record(out, sample, 0);
  const std::string text(out.view());
  EXPECT_NE(text.find("#CPU: 2\nTotal Memory: 8.0G\nTotal Disk space: 50.0G\n"), std::string::npos) << text;
  EXPECT_TRUE(
      text.ends_with("--- Runtime Information ---\n[Mon Nov  9 09:30:00 UTC 2026]\n* CPU usage: 75.0%\n"
                     "* Memory usage: 25.0%\n* Disk usage: 10.0%\n"))
      << text;
}

TEST(Schedule, SamplesSitOnAGrid) {
  SampleGrid grid(1000 * kNsPerSec, kNsPerSec);
  EXPECT_EQ(grid.next_ns(), 1000 * kNsPerSec + 50 * kNsPerMs) << "soon after the base";
  grid.taken(grid.next_ns() + kNsPerMs);
  EXPECT_EQ(grid.next_ns(), 1001 * kNsPerSec);
  grid.taken(1001 * kNsPerSec + 999 * kNsPerMs);
  EXPECT_EQ(grid.next_ns(), 1002 * kNsPerSec) << "late, and no drift";
  grid.taken(1099 * kNsPerSec + 1);
  EXPECT_EQ(grid.next_ns(), 1100 * kNsPerSec) << "missed points are not made up for";
  EXPECT_EQ(SampleGrid(0, 10 * kNsPerMs).next_ns(), 10 * kNsPerMs);
}

TEST(Schedule, ReportsComeEarlyThenSpreadThenRegularly) {
  ReportTimes times(0, std::nullopt, 10 * kNsPerSec, 0.5);
  EXPECT_EQ(times.next_ns(), 2 * kNsPerSec);
  times.sent(2 * kNsPerSec);
  EXPECT_EQ(times.next_ns(), 7 * kNsPerSec);
  times.sent(7 * kNsPerSec);
  EXPECT_EQ(times.next_ns(), 17 * kNsPerSec);
  times.hurry(10 * kNsPerSec);
  EXPECT_EQ(times.next_ns(), 11 * kNsPerSec);
  times.sent(11 * kNsPerSec);
  EXPECT_EQ(times.next_ns(), 12 * kNsPerSec);
  times.sent(60 * kNsPerSec);
  EXPECT_EQ(times.next_ns(), 61 * kNsPerSec);
  ReportTimes chosen(0, 5 * kNsPerSec, 10 * kNsPerSec, 0.5);
  EXPECT_EQ(chosen.next_ns(), 5 * kNsPerSec);
  chosen.sent(5 * kNsPerSec);
  EXPECT_EQ(chosen.next_ns(), 10 * kNsPerSec);
}

}  // namespace
}  // namespace tacho
