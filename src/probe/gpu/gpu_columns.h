// Each GPU by itself, for devices.csv: gpu_N_usage, gpu_N_vram_mib, gpu_N_power_w, gpu_N_temperature_c,
// gpu_N_clock_mhz and gpu_N_throttle; of devices that have GPM also what their units do. Thread-safe (no state).
#pragma once
#include <span>
#include <vector>

#include "model/device.h"
#include "os/file.h"
#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/gpu_device.h"

namespace tacho {

std::vector<DeviceColumn> gpu_device_columns(size_t devices);
// In the order of these columns; a device that came since has none.
void fill_gpu_devices(std::span<const GpuSample> devices, std::span<DeviceValue> values);
// gpu_N_sm_active, gpu_N_sm_occupancy, gpu_N_tensor_active, gpu_N_dram_active.
std::vector<DeviceColumn> gpu_unit_columns(size_t devices);
// What was measured before `oldest_ns` is left empty.
void fill_gpu_units(std::span<const GpuUnitsOfDevice> devices, int64_t oldest_ns, std::span<DeviceValue> values);
// What the kernel knows of NVIDIA's devices while their driver library is still starting.
size_t count_nvidia_devices(const Roots& roots);

}  // namespace tacho
