#include "probe/gpu/gpu_columns.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

// One line a column: what follows gpu_N_, and where the value is.
struct GpuColumn {
  std::string_view name;
  std::optional<int64_t> GpuSample::*member;
  double scale;
  int decimals;
};
constexpr GpuColumn kGpuColumns[] = {
    {"usage", &GpuSample::usage_ppm, 1e-6, 4},
    {"vram_mib", &GpuSample::vram_used_bytes, 1.0 / static_cast<double>(kMiB), 3},
    {"power_w", &GpuSample::power_mw, 1e-3, 3},
    {"temperature_c", &GpuSample::temperature_mc, 1e-3, 1},
    {"clock_mhz", &GpuSample::sm_clock_mhz, 1, 0},
    {"throttle", &GpuSample::clock_events, 1, 0},
};

}  // namespace

std::vector<DeviceColumn> gpu_device_columns(size_t devices) {
  std::vector<DeviceColumn> columns;
  for (size_t i = 0; i < devices; ++i)
    for (const GpuColumn& column : kGpuColumns)
      columns.push_back({"gpu_" + std::to_string(i) + "_" + std::string(column.name), DeviceRule::level, column.scale,
                         column.decimals});
  return columns;
}

void fill_gpu_devices(std::span<const GpuSample> devices, std::span<DeviceValue> values) {
  size_t at = 0;
  for (const GpuSample& device : devices)
    for (const GpuColumn& column : kGpuColumns) {
      if (at >= values.size()) return;
      const std::optional<int64_t>& value = device.*column.member;
      if (value) values[at].value = *value;
      ++at;
    }
}

// In the order of GpuUnitsOfDevice::ppm.
constexpr std::string_view kUnitColumns[kGpuUnits] = {"sm_active", "sm_occupancy", "tensor_active", "dram_active"};

std::vector<DeviceColumn> gpu_unit_columns(size_t devices) {
  std::vector<DeviceColumn> columns;
  for (size_t i = 0; i < devices; ++i)
    for (const std::string_view name : kUnitColumns)
      columns.push_back({"gpu_" + std::to_string(i) + "_" + std::string(name), DeviceRule::level, 1e-6, 4});
  return columns;
}

void fill_gpu_units(std::span<const GpuUnitsOfDevice> devices, int64_t oldest_ns, std::span<DeviceValue> values) {
  for (size_t i = 0; i < devices.size() && (i + 1) * kGpuUnits <= values.size(); ++i) {
    if (devices[i].stamp_ns == 0 || devices[i].stamp_ns < oldest_ns) continue;
    for (size_t unit = 0; unit < kGpuUnits; ++unit)
      if (devices[i].ppm[unit] >= 0) values[i * kGpuUnits + unit].value = devices[i].ppm[unit];
  }
}

size_t count_nvidia_devices(const Roots& roots) {
  size_t count = 0;
  list_directory(roots.proc + "/driver/nvidia/gpus", [&](std::string_view) { ++count; });
  if (count > 0 || !roots.are_real()) return count;
  list_directory("/dev", [&](std::string_view name) {
    if (name.starts_with("nvidia") && parse_int<int>(name.substr(6))) ++count;
  });
  return count;
}

}  // namespace tacho
