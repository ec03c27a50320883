// The table `metrics`: a row a sample. A new column is one more line at the end; then
// `tacho bq columns > docs/bigquery-columns.md`.
#include "model/bigquery_row.h"
#include "monitor/tables/rows.h"

namespace tacho {
namespace {

using enum BqType;
using enum BqMode;
constexpr bool kOriginal = false, kAdded = true;
constexpr void (*kByDeliverer)(BqRowWriter&, const MetricsSample&) = nullptr;  // the same in every row of a run

std::optional<double> vram_used_gb(const GpuDetail& gpu) { return gigabytes(gpu.vram_used_bytes); }

std::optional<double> swap_used_gb(const MemoryDetail& memory) {
  if (!memory.swap_total_bytes || !memory.swap_free_bytes) return std::nullopt;
  return gigabytes(std::max<int64_t>(0, *memory.swap_total_bytes - *memory.swap_free_bytes));
}

#define PUT(...) [](BqRowWriter& row, const MetricsSample& of) { row.__VA_ARGS__; }
// clang-format off
constexpr auto kMetricsLines = std::to_array<BqLine<MetricsSample>>({
    {"timestamp", timestamp, required, kOriginal, "when the sample was taken", PUT(time(of.realtime_ns))},
    {"instance_id", integer, required, kOriginal, "number of the machine; away from Google a hash", kByDeliverer},
    {"cpu_used_percent", floating, repeated, kOriginal, "of each CPU: all but idle, I/O wait included",
     PUT(numbers(of.cpu_used_percent, std::identity{}, 2))},
    {"mem_used_gb", floating, required, kOriginal, "total less free, buffers and caches", PUT(size(used_memory_gb(of.memory)))},
    {"disk_used_gb", floating, repeated, kOriginal, "of each mount, in the order of runtime.disk_mounts",
     PUT(sizes(of.disks, &DiskValues::used_gb))},
    {"disk_read_iops", floating, repeated, kOriginal, "reads a second of the mount's device",
     PUT(numbers(of.disks, &DiskValues::read_iops))},
    {"disk_write_iops", floating, repeated, kOriginal, "writes a second of the mount's device",
     PUT(numbers(of.disks, &DiskValues::write_iops))},
    {"workflow_id", string, nullable, kAdded, "of the task, as in runtime", kByDeliverer},
    {"task_call_name", string, nullable, kAdded, "of the task, as in runtime", kByDeliverer},
    {"shard", integer, nullable, kAdded, "of the task, as in runtime", kByDeliverer},
    {"attempt", integer, nullable, kAdded, "of the task, as in runtime", kByDeliverer},
    {"run_id", string, nullable, kAdded, "of this start of the monitor", kByDeliverer},
    {"seq", integer, nullable, kAdded, "0, 1, 2 … within the run", PUT(whole(of.seq))},
    {"event", string, nullable, kAdded, "final, preempted or command_end; otherwise NULL", PUT(known(of.event))},
    {"cpu_iowait_percent", floating, nullable, kAdded, "all CPUs idle while I/O was pending",
     PUT(number(of.cpu_iowait_percent, 2))},
    {"cpu_steal_percent", floating, nullable, kAdded, "taken by the hypervisor", PUT(number(of.cpu_steal_percent, 2))},
    {"load1", floating, nullable, kAdded, "load average over a minute", PUT(number(of.load1, 2))},
    {"mem_available_gb", floating, nullable, kAdded, "what programs could still get", PUT(size(gigabytes(of.memory.available_bytes)))},
    {"mem_cached_gb", floating, nullable, kAdded, "page cache and reclaimable slabs", PUT(size(gigabytes(of.memory.cached_bytes)))},
    {"swap_used_gb", floating, nullable, kAdded, "swap in use", PUT(size(swap_used_gb(of.memory)))},
    {"cgroup_cpu_cores", floating, nullable, kAdded, "cores that the task's container used", PUT(number(of.cgroup_cpu_cores))},
    {"cgroup_cpu_throttled_percent", floating, nullable, kAdded, "of the time, held back by its CPU quota",
     PUT(number(of.cgroup_cpu_throttled_percent, 2))},
    {"cgroup_mem_used_gb", floating, nullable, kAdded, "memory of the task's container", PUT(size(of.cgroup_mem_used_gb))},
    {"cgroup_mem_peak_gb", floating, nullable, kAdded, "its high-water mark", PUT(size(of.cgroup_mem_peak_gb))},
    {"cgroup_mem_limit_gb", floating, nullable, kAdded, "its limit", PUT(size(of.cgroup_mem_limit_gb))},
    {"disk_ok", boolean, repeated, kAdded, "whether the mount's values are of this sample; otherwise they repeat the last ones",
     PUT(texts(of.disks, &DiskValues::ok))},
    {"disk_read_mb_per_s", floating, repeated, kAdded, "read from the mount's device, 10⁶ bytes a second",
     PUT(numbers(of.disks, &DiskValues::read_mb_per_s))},
    {"disk_write_mb_per_s", floating, repeated, kAdded, "written to the mount's device, 10⁶ bytes a second",
     PUT(numbers(of.disks, &DiskValues::write_mb_per_s))},
    {"disk_busy_percent", floating, repeated, kAdded, "of the time, the mount's device was busy",
     PUT(numbers(of.disks, &DiskValues::busy_percent, 2))},
    {"net_rx_mb_per_s", floating, nullable, kAdded, "received by all counted interfaces, 10⁶ bytes a second", PUT(number(of.net_rx_mb_per_s))},
    {"net_tx_mb_per_s", floating, nullable, kAdded, "sent by all counted interfaces, 10⁶ bytes a second", PUT(number(of.net_tx_mb_per_s))},
    {"gpu_used_percent", floating, repeated, kAdded, "of each GPU, as its driver tells it",
     PUT(numbers(of.gpus, &GpuDetail::utilization_pct, 2))},
    {"gpu_mem_used_gb", floating, repeated, kAdded, "memory of each GPU in use", PUT(sizes(of.gpus, vram_used_gb))},
    {"gpu_power_w", floating, repeated, kAdded, "power of each GPU", PUT(numbers(of.gpus, &GpuDetail::power_watts, 1))},
    {"proc_count", integer, nullable, kAdded, "processes of the task", PUT(whole(of.proc_count))},
    {"proc_cpu_cores", floating, nullable, kAdded, "cores that they used", PUT(number(of.proc_cpu_cores))},
    {"proc_rss_gb", floating, nullable, kAdded, "resident memory of them all", PUT(size(of.proc_rss_gb))},
    {"top_process", string, nullable, kAdded, "name of the one that used the most CPU", PUT(known(of.top_process))},
    {"oom_kills", integer, nullable, kAdded, "processes that the kernel killed for memory, so far", PUT(whole(of.oom_kills))},
    {"psi_cpu_some", floating, nullable, kAdded, "percent of the time in which something waited for a CPU",
     PUT(number(of.pressure.cpu_some, 2))},
    {"psi_mem_some", floating, nullable, kAdded, "the same for memory", PUT(number(of.pressure.memory_some, 2))},
    {"psi_mem_full", floating, nullable, kAdded, "percent of the time in which everything waited for memory",
     PUT(number(of.pressure.memory_full, 2))},
    {"psi_io_some", floating, nullable, kAdded, "as psi_cpu_some, for I/O", PUT(number(of.pressure.io_some, 2))},
    {"psi_io_full", floating, nullable, kAdded, "as psi_mem_full, for I/O", PUT(number(of.pressure.io_full, 2))},
    {"self_cpu_percent", floating, nullable, kAdded, "of one core, used by tacho itself", PUT(number(of.self_cpu_percent))},
    {"self_rss_gb", floating, nullable, kAdded, "resident memory of tacho itself", PUT(size(of.self_rss_gb))},
    {"rows_dropped", integer, nullable, kAdded, "samples thinned out of a full spool, so far", PUT(whole(of.rows_dropped))},
});
// clang-format on
#undef PUT

constexpr auto kMetricsColumns = columns_of(kMetricsLines);

}  // namespace

constinit const BqTableData kBqMetrics{"metrics", "timestamp", kMetricsColumns};

void write_metrics_row(Writer& out, const MetricsSample& sample) { write_bq_row(out, kMetricsLines, sample); }

std::optional<double> used_memory_gb(const MemoryDetail& memory) {
  if (!memory.total_bytes || !memory.free_bytes) return std::nullopt;
  const int64_t caches = memory.buffers_bytes.value_or(0) + memory.cached_bytes.value_or(0);
  return gigabytes(std::max<int64_t>(0, *memory.total_bytes - *memory.free_bytes - caches));
}

}  // namespace tacho
