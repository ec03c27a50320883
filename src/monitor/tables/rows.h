// The two tables of a task monitor, a line a column (metrics_table.cc, runtime_table.cc), and what their rows are made
// from: what the agent itself knows (docs/formats/cromwell-bigquery.md 1.5, 1.6, 1.9). Unknown values are left out,
// never 0; the columns that are the same in every row, and those that only the metadata server knows, are added by
// tacho-deliver (spool/bq_record.h). Pure; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "base/writer.h"
#include "model/bigquery.h"
#include "model/detail.h"

namespace tacho {

// A mount of the task. Arrays have no gaps: a value that cannot be read stays as it was, and `ok` says so.
struct DiskValues {
  std::string mount;
  std::string device;  // "sdb"; empty when none is known
  bool ok = false;     // all of the following were read in this sample
  double total_gb = 0, used_gb = 0;
  double read_iops = 0, write_iops = 0, read_mb_per_s = 0, write_mb_per_s = 0, busy_percent = 0;
};

struct MetricsSample {
  int64_t realtime_ns = 0, seq = 0, rows_dropped = 0;
  std::string_view event;  // empty: none
  std::span<const double> cpu_used_percent;
  std::optional<double> cpu_iowait_percent, cpu_steal_percent, load1;
  MemoryDetail memory;
  std::optional<double> cgroup_cpu_cores, cgroup_cpu_throttled_percent;
  std::optional<double> cgroup_mem_used_gb, cgroup_mem_peak_gb, cgroup_mem_limit_gb;
  std::span<const DiskValues> disks;
  std::optional<double> net_rx_mb_per_s, net_tx_mb_per_s;
  std::span<const GpuDetail> gpus;
  std::optional<int64_t> proc_count;
  std::optional<double> proc_cpu_cores, proc_rss_gb;
  std::string_view top_process;
  std::optional<int64_t> oom_kills;
  PressureDetail pressure;
  std::optional<double> self_cpu_percent, self_rss_gb;
};
extern const BqTableData kBqMetrics;
void write_metrics_row(Writer& out, const MetricsSample& sample);

struct RuntimeFacts {
  std::string run_id, cpu_model, kernel;
  std::string_view form = "local";  // form_name() of monitor/settings.h
  int64_t cpu_count = 0, start_realtime_ns = 0, measure_interval_ms = 0, report_interval_ms = 0;
  std::optional<int64_t> mem_total_bytes, swap_total_bytes, mem_limit_bytes, boot_time_s;
  std::optional<double> cpu_limit;
  std::span<const DiskValues> disks;
  std::span<const GpuDetail> gpus;
};
extern const BqTableData kBqRuntime;
void write_runtime_row(Writer& out, const RuntimeFacts& facts);

// MemTotal − MemFree − Buffers − Cached − SReclaimable, at least 0; nothing when one of the first two is unknown.
std::optional<double> used_memory_gb(const MemoryDetail& memory);
// Of bytes; nothing of nothing.
inline std::optional<double> gigabytes(const std::optional<int64_t>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes) * kBytesToGb;
}

}  // namespace tacho
