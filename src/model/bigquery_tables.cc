#include "model/bigquery_tables.h"

#include <array>

namespace tacho {
namespace {

using enum BqType;
using enum BqMode;
constexpr bool kAdded = true;

constexpr BqColumn add(std::string_view name, BqType type, BqMode mode = nullable) {
  return {name, type, mode, kAdded};
}

constexpr auto kRuntimeColumns = std::to_array<BqColumn>({
    {"project_id", string, required},
    {"zone", string, required},
    {"instance_id", integer, required},
    {"instance_name", string, required},
    {"preemptible", boolean, required},
    {"workflow_id", string, nullable},
    {"task_call_name", string, nullable},
    {"shard", integer, nullable},
    {"attempt", integer, nullable},
    {"cpu_count", integer, required},
    {"cpu_platform", string, required},
    {"mem_total_gb", floating, required},
    {"disk_mounts", string, repeated},
    {"disk_total_gb", floating, repeated},
    {"start_time", timestamp, required},
    add("run_id", string),
    add("tacho_version", string),
    add("monitor_form", string),
    add("machine_type", string),
    add("cpu_model", string),
    add("kernel", string),
    add("boot_time", timestamp),
    add("measure_interval_ms", integer),
    add("report_interval_ms", integer),
    add("mem_limit_gb", floating),
    add("cpu_limit", floating),
    add("swap_total_gb", floating),
    add("disk_devices", string, repeated),
    add("gpu_count", integer),
    add("gpu_models", string, repeated),
    add("gpu_mem_total_gb", floating, repeated),
});

constexpr auto kMetricsColumns = std::to_array<BqColumn>({
    {"timestamp", timestamp, required},
    {"instance_id", integer, required},
    {"cpu_used_percent", floating, repeated},
    {"mem_used_gb", floating, required},
    {"disk_used_gb", floating, repeated},
    {"disk_read_iops", floating, repeated},
    {"disk_write_iops", floating, repeated},
    add("workflow_id", string),
    add("task_call_name", string),
    add("shard", integer),
    add("attempt", integer),
    add("run_id", string),
    add("seq", integer),
    add("event", string),
    add("cpu_iowait_percent", floating),
    add("cpu_steal_percent", floating),
    add("load1", floating),
    add("mem_available_gb", floating),
    add("mem_cached_gb", floating),
    add("swap_used_gb", floating),
    add("cgroup_cpu_cores", floating),
    add("cgroup_cpu_throttled_percent", floating),
    add("cgroup_mem_used_gb", floating),
    add("cgroup_mem_peak_gb", floating),
    add("cgroup_mem_limit_gb", floating),
    add("disk_ok", boolean, repeated),
    add("disk_read_mb_per_s", floating, repeated),
    add("disk_write_mb_per_s", floating, repeated),
    add("disk_busy_percent", floating, repeated),
    add("net_rx_mb_per_s", floating),
    add("net_tx_mb_per_s", floating),
    add("gpu_used_percent", floating, repeated),
    add("gpu_mem_used_gb", floating, repeated),
    add("gpu_power_w", floating, repeated),
    add("proc_count", integer),
    add("proc_cpu_cores", floating),
    add("proc_rss_gb", floating),
    add("top_process", string),
    add("oom_kills", integer),
    add("psi_cpu_some", floating),
    add("psi_mem_some", floating),
    add("psi_mem_full", floating),
    add("psi_io_some", floating),
    add("psi_io_full", floating),
    add("self_cpu_percent", floating),
    add("self_rss_gb", floating),
    add("rows_dropped", integer),
});

constexpr auto kInputFields = std::to_array<BqColumn>({
    {"key", string, required},
    {"type", string, required},
    {"value", string, nullable},
    add("size_bytes", integer),
});

constexpr auto kMetadataColumns = std::to_array<BqColumn>({
    {"project_id", string, required},
    {"zone", string, required},
    {"instance_name", string, required},
    {"preemptible", boolean, required},
    {"workflow_name", string, required},
    {"workflow_id", string, required},
    {"task_call_name", string, required},
    {"shard", integer, required},
    {"attempt", integer, required},
    {"start_time", timestamp, required},
    {"end_time", timestamp, required},
    {"execution_status", string, required},
    {"cpu_count", integer, required},
    {"mem_total_gb", floating, required},
    {"disk_mounts", string, repeated},
    {"disk_total_gb", floating, repeated},
    {"disk_types", string, repeated},
    {"docker_image", string, required},
    {"inputs", record, repeated, false, kInputFields},
    add("call_fqn", string),
    add("root_workflow_id", string),
    add("backend", string),
    add("machine_type", string),
    add("mem_total_bytes", integer),
    add("end_time_known", boolean),
    add("cached", boolean),
    add("return_code", integer),
    add("job_id", string),
    add("vm_start_time", timestamp),
    add("vm_end_time", timestamp),
    add("vm_cost_per_hour", floating),
    add("gpu_count", integer),
    add("gpu_type", string),
    add("inputs_truncated", boolean),
    add("inputs_size_bytes", integer),
});

}  // namespace

constinit const BqTableData kBqRuntime{"runtime", "start_time", kRuntimeColumns};
constinit const BqTableData kBqMetrics{"metrics", "timestamp", kMetricsColumns};
constinit const BqTableData kBqMetadata{"metadata", "start_time", kMetadataColumns};

const BqTableData* find_bq_table(std::string_view name) {
  for (const BqTableData* table : {&kBqRuntime, &kBqMetrics, &kBqMetadata})
    if (table->name == name) return table;
  return nullptr;
}

std::string_view bq_type_name(BqType type) {
  constexpr std::array<std::string_view, 6> kNames{"STRING", "INTEGER", "FLOAT", "BOOLEAN", "TIMESTAMP", "RECORD"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view bq_mode_name(BqMode mode) {
  constexpr std::array<std::string_view, 3> kNames{"NULLABLE", "REQUIRED", "REPEATED"};
  return kNames[static_cast<size_t>(mode)];
}

}  // namespace tacho
