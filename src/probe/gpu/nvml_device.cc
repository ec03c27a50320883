#include "probe/gpu/nvml_device.h"

#include <algorithm>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kInstancesPaceNs = 5 * kNsPerSec;  // MIG is set up by hand, rarely
constexpr int64_t kMostInstances = 8;                // a device can be cut into seven
constexpr int64_t kDetailPaceNs = 950 * kNsPerMs;    // 1 to 10 ms for the three on an H200
constexpr int64_t kTooSlowNs = kNsPerSec;            // a device that blocks this long must not hold up the others

// The driver does not offer this here; says nothing about the device's health.
bool is_unsupported(nvml::Return code) {
  return code == nvml::kNotSupported || code == nvml::kFunctionNotFound || code == nvml::kArgumentVersionMismatch ||
         code == nvml::kDeprecated;
}

bool is_lost(nvml::Return code) {
  return code == nvml::kGpuIsLost || code == nvml::kResetRequired || code == nvml::kGpuNotFound;
}

std::optional<int64_t> number(nvml::Return (*function)(nvml::Device, unsigned int*), nvml::Device device) {
  unsigned int value = 0;
  if (function == nullptr || function(device, &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

std::optional<int64_t> number(nvml::Return (*function)(nvml::Device, int, unsigned int*), nvml::Device device,
                              int which) {
  unsigned int value = 0;
  if (function == nullptr || function(device, which, &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

std::string text(nvml::Return (*function)(nvml::Device, char*, unsigned int), nvml::Device device) {
  char value[nvml::kTextSize] = {};
  if (function == nullptr || function(device, value, sizeof value - 1) != nvml::kSuccess) return {};
  return value;
}

std::string bus_id(const nvml::Api& api, nvml::Device device) {
  nvml::PciInfo info{};
  if (api.pci_info != nullptr && api.pci_info(device, &info) == nvml::kSuccess)
    return {info.bus_id, std::find(info.bus_id, std::end(info.bus_id), '\0')};
  if (api.pci_info_old != nullptr && api.pci_info_old(device, &info) == nvml::kSuccess)
    return {info.bus_id_legacy, std::find(info.bus_id_legacy, std::end(info.bus_id_legacy), '\0')};
  return {};
}

struct Amount {
  int64_t used = 0, total = 0;
};

nvml::Return memory_of(const nvml::Api& api, nvml::Device device, Amount& out) {
  nvml::Return code = nvml::kFunctionNotFound;
  if (api.memory_v2 != nullptr) {
    nvml::MemoryV2 memory{};
    memory.version = nvml::kMemoryV2;
    code = api.memory_v2(device, &memory);
    if (code == nvml::kSuccess) {
      out = {static_cast<int64_t>(memory.used), static_cast<int64_t>(memory.total)};
      return code;
    }
  }
  if (api.memory == nullptr || !(is_unsupported(code) || code == nvml::kInvalidArgument)) return code;
  nvml::Memory memory{};
  code = api.memory(device, &memory);
  if (code == nvml::kSuccess) out = {static_cast<int64_t>(memory.used), static_cast<int64_t>(memory.total)};
  return code;
}

}  // namespace

bool nvml_driver_gone(nvml::Return code) {
  return code == nvml::kUninitialized || code == nvml::kDriverNotLoaded || code == nvml::kLibraryVersionMismatch;
}

nvml::Return NvmlDevice::open(const nvml::Api& api) {
  nvml::Device handle = nullptr;
  const nvml::Return code = api.handle_by_index(index_, &handle);
  if (code != nvml::kSuccess) return code;
  handle_ = handle;
  next_instances_ns_ = next_detail_ns_ = 0;
  identity_ = {};
  identity_.name = text(api.name, handle_);
  identity_.uuid = text(api.uuid, handle_);
  identity_.pci_bus_id = bus_id(api, handle_);
  identity_.core_count = number(api.core_count, handle_);
  Amount memory;
  if (memory_of(api, handle_, memory) == nvml::kSuccess) identity_.vram_total_bytes = memory.total;
  char version[nvml::kTextSize] = {};
  if (api.driver_version != nullptr && api.driver_version(version, sizeof version - 1) == nvml::kSuccess)
    identity_.driver_version = version;
  refresh_detail(api);  // unasked this once: the first row that wants detail then has it
  changed_ = true;
  return code;
}

void NvmlDevice::find_instances(const nvml::Api& api, int64_t now_ns) {
  if (now_ns < next_instances_ns_) return;
  next_instances_ns_ = now_ns + kInstancesPaceNs;
  instances_.clear();
  unsigned int current = 0, pending = 0;
  mig_ = api.mig_mode != nullptr && api.mig_mode(handle_, &current, &pending) == nvml::kSuccess &&
         current == nvml::kMigEnabled;
  if (!mig_ || api.mig_device == nullptr) return;
  const int64_t most = number(api.mig_device_count, handle_).value_or(kMostInstances);
  for (unsigned int i = 0; i < static_cast<unsigned int>(most); ++i) {
    nvml::Device instance = nullptr;
    // The places of instances that were not made answer "not found".
    if (api.mig_device(handle_, i, &instance) == nvml::kSuccess) instances_.push_back(instance);
  }
}

// With MIG the driver has no utilisation of the whole device; a 0 that it may answer would be made up.
nvml::Return NvmlDevice::read_usage(const nvml::Api& api, GpuSample& out) {
  if (mig_ || api.utilization == nullptr) return nvml::kNotSupported;
  nvml::Utilization utilization{};
  const nvml::Return code = api.utilization(handle_, &utilization);
  if (code == nvml::kSuccess) out.usage_ppm = int64_t{std::min(utilization.gpu, 100u)} * 10'000;
  return code;
}

nvml::Return NvmlDevice::read_memory(const nvml::Api& api, GpuSample& out) {
  Amount sum;
  bool any = false;
  for (const nvml::Device instance : instances_) {
    Amount part;
    const nvml::Return code = memory_of(api, instance, part);
    if (nvml_driver_gone(code) || is_lost(code)) return code;
    if (code != nvml::kSuccess) {
      next_instances_ns_ = 0;  // perhaps it was taken down
      continue;
    }
    sum.used += part.used;
    sum.total += part.total;
    any = true;
  }
  nvml::Return code = nvml::kSuccess;
  if (!any) code = memory_of(api, handle_, sum);
  if (code != nvml::kSuccess) return code;
  out.vram_used_bytes = sum.used;
  out.vram_total_bytes = sum.total;
  return code;
}

void NvmlDevice::refresh_detail(const nvml::Api& api) {
  const int64_t now_ns = system_clock().monotonic_ns();
  if (handle_ == nullptr || now_ns < next_detail_ns_ || !back_off_.due(now_ns)) return;
  next_detail_ns_ = now_ns + kDetailPaceNs;
  temperature_mc_ = number(api.temperature, handle_, nvml::kTemperatureGpu);
  if (temperature_mc_) *temperature_mc_ *= 1000;
  power_mw_ = number(api.power, handle_);
  frequency_mhz_ = number(api.clock, handle_, nvml::kClockGraphics);
  sm_clock_mhz_ = number(api.clock, handle_, nvml::kClockSm);
  unsigned long long events = 0;
  clock_events_.reset();
  if (api.clock_events != nullptr && api.clock_events(handle_, &events) == nvml::kSuccess)
    clock_events_ = static_cast<int64_t>(events & INT64_MAX);
}

nvml::Return NvmlDevice::read(const nvml::Api& api, NvmlJob* job, GpuSample& out) {
  if (handle_ == nullptr) {
    const nvml::Return code = open(api);
    if (code != nvml::kSuccess) return code;
  }
  const int64_t now_ns = system_clock().monotonic_ns();
  find_instances(api, now_ns);
  const nvml::Return usage = read_usage(api, out);
  if (nvml_driver_gone(usage) || is_lost(usage)) return usage;
  const nvml::Return memory = read_memory(api, out);
  if (nvml_driver_gone(memory) || is_lost(memory)) return memory;
  // Neither could be read although at least one is offered: the device is not well.
  if (usage != nvml::kSuccess && memory != nvml::kSuccess && !(is_unsupported(usage) && is_unsupported(memory)))
    return is_unsupported(usage) ? memory : usage;
  if (job != nullptr) {
    const nvml::Return code = processes_.read(api, handle_, instances_, *job, out);
    if (code != nvml::kSuccess) return code;
  }
  out.temperature_mc = temperature_mc_;
  out.power_mw = power_mw_;
  out.frequency_mhz = frequency_mhz_;
  out.sm_clock_mhz = sm_clock_mhz_;
  out.clock_events = clock_events_;
  return nvml::kSuccess;
}

nvml::Return NvmlDevice::sample(const nvml::Api& api, NvmlJob* job, GpuSample& out) {
  const int64_t start_ns = system_clock().monotonic_ns();
  if (!back_off_.due(start_ns)) return failure_;
  const nvml::Return code = read(api, job, out);
  const int64_t end_ns = system_clock().monotonic_ns();
  if (code != nvml::kSuccess) {
    out = {};
    handle_ = nullptr;  // a device that comes back may have another handle
    failure_ = code;
    back_off_.failed(end_ns);
  } else if (end_ns - start_ns > kTooSlowNs) {
    failure_ = nvml::kTimeout;
    back_off_.failed(end_ns);
  } else {
    back_off_.succeeded();
  }
  return code;
}

}  // namespace tacho
