// The table `runtime`: a row a start of the monitor. A new column is one more line at the end; then
// `tacho bq columns > docs/bigquery-columns.md`.
#include "base/units.h"
#include "model/bigquery_row.h"
#include "monitor/tables/rows.h"

namespace tacho {
namespace {

using enum BqType;
using enum BqMode;
constexpr bool kFirst = false, kOurs = true;
constexpr void (*kByIdentity)(BqRowWriter&, const RuntimeFacts&) = nullptr;  // what tacho-deliver finds out or is given

std::optional<double> vram_total_gb(const GpuDetail& gpu) { return gigabytes(gpu.vram_total_bytes); }

std::optional<int64_t> seconds_to_ns(const std::optional<int64_t>& seconds) {
  return seconds ? std::optional(*seconds * kNsPerSec) : std::nullopt;
}

std::optional<int64_t> count_of(std::span<const GpuDetail> gpus) {
  return gpus.empty() ? std::nullopt : std::optional(static_cast<int64_t>(gpus.size()));
}

#define PUT(...) [](BqRowWriter& row, [[maybe_unused]] const RuntimeFacts& of) { row.__VA_ARGS__; }
// clang-format off
constexpr auto kRuntimeLines = std::to_array<BqLine<RuntimeFacts>>({
    {"project_id", string, required, kFirst, "owner of the machine", kByIdentity},
    {"zone", string, required, kFirst, "where the machine is", kByIdentity},
    {"instance_id", integer, required, kFirst, "number of the machine; away from Google a hash", kByIdentity},
    {"instance_name", string, required, kFirst, "name of the machine", kByIdentity},
    {"preemptible", boolean, required, kFirst, "whether the machine may be taken away", kByIdentity},
    {"workflow_id", string, nullable, kFirst, "of the task's workflow", kByIdentity},
    {"task_call_name", string, nullable, kFirst, "name of the call", kByIdentity},
    {"shard", integer, nullable, kFirst, "index of the call in its scatter, −1 outside of one", kByIdentity},
    {"attempt", integer, nullable, kFirst, "1, 2 … of the call", kByIdentity},
    {"cpu_count", integer, required, kFirst, "CPUs of the machine", PUT(whole(of.cpu_count))},
    {"cpu_platform", string, required, kFirst, "kind of CPU, as the metadata server names it", kByIdentity},
    {"mem_total_gb", floating, required, kFirst, "memory of the machine", PUT(size(gigabytes(of.mem_total_bytes)))},
    {"disk_mounts", string, repeated, kFirst, "mounts that are measured", PUT(texts(of.disks, &DiskValues::mount))},
    {"disk_total_gb", floating, repeated, kFirst, "size of each mount", PUT(sizes(of.disks, &DiskValues::total_gb))},
    {"start_time", timestamp, required, kFirst, "when the monitor started", PUT(time(of.start_realtime_ns))},
    {"run_id", string, nullable, kOurs, "of this start of the monitor, as in metrics", PUT(known(of.run_id))},
    {"tacho_version", string, nullable, kOurs, "who measured", PUT(known(TACHO_VERSION))},
    {"monitor_form", string, nullable, kOurs, "image, script or local", PUT(known(of.form))},
    {"machine_type", string, nullable, kOurs, "kind of machine, as the metadata server names it", kByIdentity},
    {"cpu_model", string, nullable, kOurs, "as /proc/cpuinfo names it", PUT(known(of.cpu_model))},
    {"kernel", string, nullable, kOurs, "release of the kernel", PUT(known(of.kernel))},
    {"boot_time", timestamp, nullable, kOurs, "when the machine was started", PUT(time(seconds_to_ns(of.boot_time_s)))},
    {"measure_interval_ms", integer, nullable, kOurs, "between two samples", PUT(whole(of.measure_interval_ms))},
    {"report_interval_ms", integer, nullable, kOurs, "between two reports", PUT(whole(of.report_interval_ms))},
    {"mem_limit_gb", floating, nullable, kOurs, "limit of the task's container", PUT(size(gigabytes(of.mem_limit_bytes)))},
    {"cpu_limit", floating, nullable, kOurs, "cores that the task's container may use", PUT(number(of.cpu_limit))},
    {"swap_total_gb", floating, nullable, kOurs, "swap of the machine", PUT(size(gigabytes(of.swap_total_bytes)))},
    {"disk_devices", string, repeated, kOurs, "device of each mount, empty where none is known",
     PUT(texts(of.disks, &DiskValues::device))},
    {"gpu_count", integer, nullable, kOurs, "GPUs of the machine, where there are any", PUT(whole(count_of(of.gpus)))},
    {"gpu_models", string, repeated, kOurs, "name of each GPU", PUT(texts(of.gpus, &GpuDetail::name))},
    {"gpu_mem_total_gb", floating, repeated, kOurs, "memory of each GPU", PUT(sizes(of.gpus, vram_total_gb))},
});
// clang-format on
#undef PUT

constexpr auto kRuntimeColumns = columns_of(kRuntimeLines);

}  // namespace

constinit const BqTableData kBqRuntime{"runtime", "start_time", kRuntimeColumns};

void write_runtime_row(Writer& out, const RuntimeFacts& facts) { write_bq_row(out, kRuntimeLines, facts); }

}  // namespace tacho
