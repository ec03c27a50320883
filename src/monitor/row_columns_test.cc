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
  sample.event = "final";
  const std::vector<double> cores{12.5};
  sample.cpu_used_percent = cores;
  sample.cpu_iowait_percent = sample.cpu_steal_percent = sample.load1 = 1.25;
  MemoryDetail& memory = sample.memory;
  memory.total_bytes = memory.swap_total_bytes = 8'000'000'000;
  memory.free_bytes = memory.swap_free_bytes = memory.available_bytes = memory.cached_bytes = 1'000'000'000;
  sample.cgroup_cpu_cores = sample.cgroup_cpu_throttled_percent = 0.5;
  sample.cgroup_mem_used_gb = sample.cgroup_mem_peak_gb = sample.cgroup_mem_limit_gb = 2.5;
  std::vector<DiskValues> disks(1);
  disks[0] = {"/a", "sdb", true, 100, 30.5, 12, 3, 1.5, 0.25, 40};
  sample.disks = disks;
  sample.net_rx_mb_per_s = sample.net_tx_mb_per_s = 0.75;
  std::vector<GpuDetail> gpus(1);
  gpus[0].utilization_pct = 50;
  gpus[0].power_watts = 70;
  gpus[0].vram_used_bytes = 2'000'000'000;
  sample.gpus = gpus;
  sample.proc_count = sample.oom_kills = 2;
  sample.proc_cpu_cores = sample.proc_rss_gb = 1.5;
  sample.top_process = "python";
  sample.pressure.cpu_some = sample.pressure.memory_some = sample.pressure.memory_full = sample.pressure.io_some =
      sample.pressure.io_full = 5;
  sample.self_cpu_percent = sample.self_rss_gb = 0.25;
  Writer out;
  write_metrics_row(out, sample);
  const ColumnJson row = whole_row('M', out);
  expect_all_columns(row, kBqMetrics, {});
  EXPECT_EQ(row["swap_used_gb"], 7);
  EXPECT_EQ(row["disk_write_mb_per_s"][0], 0.25);
  EXPECT_EQ(row["gpu_power_w"][0], 70);
}

TEST(RowColumns, EachOfTheRuntimeTable) {
  RuntimeFacts facts;
  facts.run_id = "r";
  facts.cpu_model = "model";
  facts.kernel = "6.1";
  facts.cpu_count = 4;
  facts.measure_interval_ms = facts.report_interval_ms = 1000;
  facts.mem_total_bytes = facts.swap_total_bytes = facts.mem_limit_bytes = 8'000'000'000;
  facts.boot_time_s = 1'794'700'000;
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
  expect_all_columns(whole_row('R', out), kBqRuntime, {"machine_type"});
}

}  // namespace
}  // namespace tacho
