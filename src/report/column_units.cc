#include "report/column_units.h"

#include <array>

namespace tacho {
namespace {

struct EndingUnit {
  std::string_view ending, unit;
};
// The first that fits.
constexpr auto kEndings = std::to_array<EndingUnit>({
    {"_bytes_per_s", "bytes/s"},
    {"_bytes", "bytes"},
    {"_mib", "MiB"},
    {"_gb", "GB"},
    {"_ms", "ms"},
    {"_power_w", "W"},
    {"_temperature_c", "°C"},
    {"_mhz", "MHz"},
    {"_energy_j", "J"},
    {"cpu_usage", "cores"},
    {"system_gpu_usage", "GPUs"},
    {"process_gpu_usage", "GPUs"},
    {"_usage", "share"},  // of one core, one GPU
    {"time", "s"},
    {"_iowait", "s"},
    {"_steal", "s"},
    {"_rate", "1"},
    {"_ipc", "1"},
    {"_some", "share"},
    {"_full", "share"},
    {"_active", "share"},
    {"_occupancy", "share"},
    {"_busy", "share"},
    {"_busiest", "share"},
    {"load1", "threads"},
    {"_queue_length", "requests"},
    {"_pid", "pid"},
    {"timestamp", "s"},
});

}  // namespace

std::string_view unit_of_column(std::string_view column) {
  for (const EndingUnit& one : kEndings)
    if (column.ends_with(one.ending)) return one.unit;
  const bool ours = column.starts_with("system_") || column.starts_with("process_") || column.starts_with("cgroup_");
  return ours ? "count" : "";
}

}  // namespace tacho
