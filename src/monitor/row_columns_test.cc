// Every column of the tables that a task monitor writes is in a row, with its type, and no row has another one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/bigquery.h"
#include "monitor/tables/rows.h"
#include "monitor/task_meta.h"

namespace tacho {
namespace {

using ColumnJson = nlohmann::json;

bool is_of_type(const ColumnJson& value, BqType type) {
  switch (type) {
    case BqType::string: return value.is_string();
    case BqType::integer: return value.is_number_integer();
    case BqType::floating: return value.is_number();
    case BqType::boolean: return value.is_boolean();
    case BqType::timestamp: return value.is_string() && value.get<std::string>().ends_with("Z");
    case BqType::record: return value.is_object();
  }
  return false;
}

// Columns that tacho-deliver alone knows are named.
void expect_all_columns(const ColumnJson& row, const BqTableData& table,
                        const std::set<std::string>& of_the_deliverer) {
  std::set<std::string> known;
  for (const BqColumn& column : table.columns) {
    const std::string name(column.name);
    known.insert(name);
    if (of_the_deliverer.contains(name)) continue;
    ASSERT_TRUE(row.contains(name)) << table.name << "." << name << " is in no row";
    const ColumnJson& value = row[name];
    ASSERT_EQ(value.is_array(), column.mode == BqMode::repeated) << name;
    if (!value.is_array()) { EXPECT_TRUE(is_of_type(value, column.type)) << name << ": " << value; }
    for (const ColumnJson& one : value.is_array() ? value : ColumnJson::array())
      EXPECT_TRUE(is_of_type(one, column.type)) << name << ": " << one;
    if (column.mode == BqMode::repeated) { EXPECT_FALSE(value.empty()) << name; }
  }
  for (const auto& [name, value] : row.items()) EXPECT_TRUE(known.contains(name)) << name << " is in no schema";
}

// A column that was added since is looked at by its type.
void expect_values(const ColumnJson& row, const ColumnJson& expected) {
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(row.value(name, ColumnJson()), value) << name;
}

// As tacho-deliver and the local file do: what is the same in every row stands in front.
ColumnJson whole_row(char table, const Writer& out) {
  MonitorSettings settings;
  settings.given.project_id = "p";
  settings.given.zone = "z";
  settings.given.instance_id = 7;
  settings.given.instance_name = "i";
  settings.given.preemptible = true;
  settings.given.cpu_platform = "c";
  settings.task.workflow_id = "w";
  settings.task.task_call_name = "t";
  settings.task.shard = 3;
  settings.task.attempt = 1;
  return ColumnJson::parse("{" + local_members(settings, {}, "r", table) + std::string(out.view()).substr(1));
}

TEST(RowColumns, EachOfTheMetricsTable) {
  MetricsSample sample;
  sample.realtime_ns = 1'794'700'000'250'000'000;
  sample.seq = 41;
  sample.rows_dropped = 42;
  sample.event = "final";
  const std::vector<double> cores{12.5, 13.5};
  sample.cpu_used_percent = cores;
  sample.cpu_iowait_percent = 1.25, sample.cpu_steal_percent = 1.5, sample.load1 = 1.75;
  MemoryDetail& memory = sample.memory;
  memory.total_bytes = 16'000'000'000, memory.free_bytes = 1'000'000'000, memory.available_bytes = 9'000'000'000;
  memory.buffers_bytes = 500'000'000, memory.cached_bytes = 2'000'000'000;
  memory.swap_total_bytes = 8'000'000'000, memory.swap_free_bytes = 1'000'000'000;
  sample.cgroup_cpu_cores = 2.25, sample.cgroup_cpu_throttled_percent = 2.5;
  sample.cgroup_mem_used_gb = 2.75, sample.cgroup_mem_peak_gb = 3.25, sample.cgroup_mem_limit_gb = 3.5;
  std::vector<DiskValues> disks(1);
  disks[0] = {"/a", "sdb", true, 100, 30.5, 12, 3, 1.5, 0.25, 40};
  sample.disks = disks;
  sample.net_rx_mb_per_s = 0.75, sample.net_tx_mb_per_s = 0.5;
  std::vector<GpuDetail> gpus(1);
  gpus[0].utilization_pct = 50, gpus[0].power_watts = 70, gpus[0].vram_used_bytes = 2'500'000'000;
  sample.gpus = gpus;
  sample.proc_count = 21, sample.oom_kills = 22;
  sample.proc_cpu_cores = 4.25, sample.proc_rss_gb = 4.5;
  sample.top_process = "python";
  sample.pressure.cpu_some = 5.25, sample.pressure.memory_some = 5.5, sample.pressure.memory_full = 5.75;
  sample.pressure.io_some = 6.25, sample.pressure.io_full = 6.5;
  sample.self_cpu_percent = 7.25, sample.self_rss_gb = 7.5;
  Writer out;
  write_metrics_row(out, sample);
  const ColumnJson row = whole_row('M', out);
  expect_all_columns(row, kBqMetrics, {});
  // No value is another's, so that a column which shows the wrong one is found.
  const ColumnJson expected = ColumnJson::parse(R"({
    "timestamp": "2026-11-14T23:46:40.250000Z", "instance_id": 7, "cpu_used_percent": [12.5, 13.5],
    "mem_used_gb": 12.5, "disk_used_gb": [30.5], "disk_read_iops": [12], "disk_write_iops": [3],
    "workflow_id": "w", "task_call_name": "t", "shard": 3, "attempt": 1, "run_id": "r",
    "seq": 41, "event": "final", "cpu_iowait_percent": 1.25, "cpu_steal_percent": 1.5, "load1": 1.75,
    "mem_available_gb": 9, "mem_cached_gb": 2, "swap_used_gb": 7,
    "cgroup_cpu_cores": 2.25, "cgroup_cpu_throttled_percent": 2.5,
    "cgroup_mem_used_gb": 2.75, "cgroup_mem_peak_gb": 3.25, "cgroup_mem_limit_gb": 3.5,
    "disk_ok": [true], "disk_read_mb_per_s": [1.5], "disk_write_mb_per_s": [0.25], "disk_busy_percent": [40],
    "net_rx_mb_per_s": 0.75, "net_tx_mb_per_s": 0.5,
    "gpu_used_percent": [50], "gpu_mem_used_gb": [2.5], "gpu_power_w": [70],
    "proc_count": 21, "proc_cpu_cores": 4.25, "proc_rss_gb": 4.5, "top_process": "python", "oom_kills": 22,
    "psi_cpu_some": 5.25, "psi_mem_some": 5.5, "psi_mem_full": 5.75, "psi_io_some": 6.25, "psi_io_full": 6.5,
    "self_cpu_percent": 7.25, "self_rss_gb": 7.5, "rows_dropped": 42})");
  expect_values(row, expected);
}

TEST(RowColumns, EachOfTheRuntimeTable) {
  RuntimeFacts facts;
  facts.run_id = "r";
  facts.form = "image";
  facts.cpu_model = "model";
  facts.kernel = "6.1";
  facts.cpu_count = 4;
  facts.start_realtime_ns = 1'794'700'000'250'000'000;
  facts.measure_interval_ms = 1000, facts.report_interval_ms = 60'000;
  facts.mem_total_bytes = 16'000'000'000, facts.swap_total_bytes = 8'000'000'000;
  facts.mem_limit_bytes = 12'000'000'000;
  facts.boot_time_s = 1'794'600'000;
  facts.cpu_limit = 2.5;
  std::vector<DiskValues> disks(1);
  disks[0] = {"/a", "sdb", true, 100, 30.5, 12, 3, 1.5, 0.25, 40};
  facts.disks = disks;
  std::vector<GpuDetail> gpus(1);
  gpus[0].name = "GPU";
  gpus[0].vram_total_bytes = 80'000'000'000;
  facts.gpus = gpus;
  Writer out;
  write_runtime_row(out, facts);
  const ColumnJson row = whole_row('R', out);
  expect_all_columns(row, kBqRuntime, {"machine_type"});
  const ColumnJson expected = ColumnJson::parse(R"({
    "project_id": "p", "zone": "z", "instance_id": 7, "instance_name": "i", "preemptible": true,
    "workflow_id": "w", "task_call_name": "t", "shard": 3, "attempt": 1, "cpu_count": 4, "cpu_platform": "c",
    "mem_total_gb": 16, "disk_mounts": ["/a"], "disk_total_gb": [100], "start_time": "2026-11-14T23:46:40.250000Z",
    "run_id": "r", "tacho_version": ")" TACHO_VERSION R"(", "monitor_form": "image", "cpu_model": "model",
    "kernel": "6.1", "boot_time": "2026-11-13T20:00:00.000000Z", "measure_interval_ms": 1000,
    "report_interval_ms": 60000, "mem_limit_gb": 12, "cpu_limit": 2.5, "swap_total_gb": 8, "disk_devices": ["sdb"],
    "gpu_count": 1, "gpu_models": ["GPU"], "gpu_mem_total_gb": [80]})");
  expect_values(row, expected);
}

}  // namespace
}  // namespace tacho
