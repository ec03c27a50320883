#include "probe/gpu/gpu_nvidia_slow.h"

#include <algorithm>
#include <array>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kEnergyPaceNs = 450 * kNsPerMs;      // several of the driver's own steps of 100 ms
constexpr int64_t kThroughputPaceNs = 950 * kNsPerMs;  // 40 ms of blocking each time
constexpr int64_t kLongestLevelNs = 10 * kNsPerSec;
constexpr uint64_t kTwo32 = uint64_t{1} << 32;

std::optional<uint64_t> value_of(const nvml::FieldValue& field) {
  if (field.status != nvml::kSuccess) return std::nullopt;
  switch (field.value_type) {
    case nvml::kUnsignedInt: return field.value.as_uint;
    case nvml::kUnsignedLong: return field.value.as_ulong;
    case nvml::kUnsignedLongLong: return field.value.as_ullong;
    case nvml::kUnsignedShort: return field.value.as_ushort;
    case nvml::kSignedInt:
      if (field.value.as_int >= 0) return static_cast<uint64_t>(field.value.as_int);
      return std::nullopt;
    case nvml::kSignedLongLong:
      if (field.value.as_llong >= 0) return static_cast<uint64_t>(field.value.as_llong);
      return std::nullopt;
    default: return std::nullopt;
  }
}

struct Pair {
  std::optional<uint64_t> first, second;
  bool narrow = false;  // 32 bits
};

// Two fields of one scope in one call.
Pair two_fields(const nvml::Api& api, nvml::Device device, unsigned int a, unsigned int b, unsigned int scope) {
  if (api.field_values == nullptr) return {};
  std::array<nvml::FieldValue, 2> fields{};
  fields[0].field_id = a;
  fields[1].field_id = b;
  for (nvml::FieldValue& field : fields) {
    field.scope_id = scope;
    field.status = nvml::kNotSupported;  // until the driver fills it in
  }
  if (api.field_values(device, 2, fields.data()) != nvml::kSuccess) return {};
  return {value_of(fields[0]), value_of(fields[1]), fields[0].value_type == nvml::kUnsignedInt};
}

}  // namespace

std::optional<int64_t> pcie_bytes_per_s(unsigned int generation, unsigned int width) {
  // A lane: 2.5 and 5 GT/s in 8b/10b, 8, 16 and 32 GT/s in 128b/130b, 64 GT/s in FLIT mode (242 of 256 bytes).
  constexpr std::array<int64_t, 6> kLane = {250'000'000,   500'000'000,   984'615'384,
                                            1'969'230'769, 3'938'461'538, 7'562'500'000};
  if (generation < 1 || generation > kLane.size() || width == 0) return std::nullopt;
  return kLane[generation - 1] * width;
}

void NvidiaCounters::Total::add(uint64_t now, uint64_t modulus) {
  int64_t grown = 0;
  if (before) {
    if (now >= *before) grown = static_cast<int64_t>(now - *before);
    else if (modulus != 0) grown = static_cast<int64_t>(now + modulus - *before);
  }
  sum = sum.value_or(0) + grown;
  before = now;
}

bool NvidiaCounters::open(unsigned int index, Device& device) {
  const nvml::Api& api = session_.api();
  if (api.handle_by_index(index, &device.handle) != nvml::kSuccess) {
    device.handle = nullptr;
    return false;
  }
  unsigned int generation = 0, width = 0;
  if (api.pcie_max_generation != nullptr && api.pcie_max_width != nullptr &&
      api.pcie_max_generation(device.handle, &generation) == nvml::kSuccess &&
      api.pcie_max_width(device.handle, &width) == nvml::kSuccess)
    device.pcie_max = pcie_bytes_per_s(generation, width);
  read_link_limits(device);
  // Its counters go on from what they were, so that a call that failed loses nothing. One of 32 bits may have run over.
  if (device.narrow_pcie) device.pcie_rx.before.reset(), device.pcie_tx.before.reset();
  // A level stands for the time since it was read last, but not for long.
  const int64_t now_ns = system_clock().monotonic_ns();
  for (int64_t* stamp_ns : {&device.power_stamp_ns, &device.throughput_stamp_ns})
    if (now_ns - *stamp_ns > kLongestLevelNs) *stamp_ns = 0;
  device.no_pcie_counter = false;
  device.pcie_meter.forget();
  device.nvlink_meter.forget();
  return true;
}

void NvidiaCounters::forget(Device& device) {
  device.handle = nullptr;
  for (Total* total : {&device.energy_mj, &device.pcie_rx, &device.pcie_tx, &device.nvlink_rx, &device.nvlink_tx})
    total->before.reset();
  device.power_stamp_ns = device.throughput_stamp_ns = 0;
  device.gpm.forget();
  device.units = {};
  device.pcie_meter.forget();
  device.nvlink_meter.forget();
}

void NvidiaCounters::read_link_limits(Device& device) {
  const nvml::Api& api = session_.api();
  const Pair count = two_fields(api, device.handle, nvml::kFieldNvlinkLinkCount, nvml::kFieldNvlinkLinkCount, 0);
  const auto links = static_cast<unsigned int>(std::min<uint64_t>(count.first.value_or(0), nvml::kMaxLinks));
  device.nvlink_max.reset();
  for (unsigned int link = 0; link < links; ++link) {
    const Pair state = two_fields(api, device.handle, nvml::kFieldNvlinkState, nvml::kFieldNvlinkSpeed, link);
    if (state.first == 1 && state.second) add_to(device.nvlink_max, static_cast<int64_t>(*state.second) * 1'000'000);
  }
}

nvml::Return NvidiaCounters::read_energy(Device& device, int64_t now_ns) {
  const nvml::Api& api = session_.api();
  nvml::Return code = nvml::kNotSupported;
  unsigned long long energy = 0;
  if (api.total_energy != nullptr) code = api.total_energy(device.handle, &energy);
  if (code == nvml::kSuccess) {
    device.energy_mj.add(energy, 0);
    device.energy_read = true;
  } else if (code == nvml::kNotSupported || code == nvml::kFunctionNotFound) {
    unsigned int power_mw = 0;
    if (api.power != nullptr) code = api.power(device.handle, &power_mw);
    if (code == nvml::kSuccess) {
      const int64_t span_ns = device.power_stamp_ns == 0 ? 0 : now_ns - device.power_stamp_ns;
      add_to(device.power_uj, int64_t{power_mw} * (span_ns / kNsPerUs) / 1000);
      device.power_stamp_ns = now_ns;
      device.energy_read = true;
    }
  }
  unsigned int degrees = 0;
  device.temperature_mc.reset();
  if (api.temperature != nullptr && api.temperature(device.handle, nvml::kTemperatureGpu, &degrees) == nvml::kSuccess)
    device.temperature_mc = int64_t{degrees} * 1000;
  return code;
}

void NvidiaCounters::read_units(Device& device, int64_t now_ns) {
  device.gpm.read(session_.api(), device.handle, now_ns, device.units);
}

// The mean over the devices that were measured at this tick or the one before; each figure by itself.
void NvidiaCounters::add_units(GpuUnits& out) const {
  for (const Device& device : devices_) out.stamp_ns = std::max(out.stamp_ns, device.units.stamp_ns);
  const auto mean = [&](std::optional<int64_t> GpuUnits::*figure) {
    int64_t sum = 0, count = 0;
    for (const Device& device : devices_) {
      if (!(device.units.*figure) || out.stamp_ns - device.units.stamp_ns > kNsPerSec) continue;
      sum += *(device.units.*figure);
      ++count;
    }
    if (count > 0) out.*figure = sum / count;
  };
  for (const auto figure : {&GpuUnits::sm_ppm, &GpuUnits::occupancy_ppm, &GpuUnits::tensor_ppm, &GpuUnits::dram_ppm})
    mean(figure);
}

void NvidiaCounters::tell_units(GpuCounters& out) const {
  out.units_known = asked_units_;
  const size_t count = std::min(devices_.size(), kMostDevices);
  const auto narrowed = [](const std::optional<int64_t>& ppm) { return ppm ? static_cast<int32_t>(*ppm) : -1; };
  for (size_t i = 0; i < count; ++i) {
    const GpuUnits& units = devices_[i].units;
    out.units[i] = {
        units.stamp_ns,
        {narrowed(units.sm_ppm), narrowed(units.occupancy_ppm), narrowed(units.tensor_ppm), narrowed(units.dram_ppm)},
        devices_[i].pcie_meter.level(),
        devices_[i].nvlink_meter.level()};
    if (devices_[i].gpm.supported()) out.unit_devices = static_cast<uint32_t>(count);
  }
}

void NvidiaCounters::read_pcie(Device& device) {
  if (device.no_pcie_counter) return;
  const Pair now = two_fields(session_.api(), device.handle, nvml::kFieldPcieRxBytes, nvml::kFieldPcieTxBytes, 0);
  if (!now.first || !now.second) {
    device.no_pcie_counter = !device.pcie_rx.before;
    return;
  }
  device.narrow_pcie = now.narrow;
  device.pcie_rx.add(*now.first, now.narrow ? kTwo32 : 0);
  device.pcie_tx.add(*now.second, now.narrow ? kTwo32 : 0);
  device.pcie_read = true;
}

void NvidiaCounters::read_throughput(Device& device, int64_t now_ns) {
  const nvml::Api& api = session_.api();
  if (!device.no_pcie_counter || api.pcie_throughput == nullptr) return;
  unsigned int rx_kb = 0, tx_kb = 0;  // a second, of 1000 bytes
  if (api.pcie_throughput(device.handle, nvml::kPcieRx, &rx_kb) != nvml::kSuccess ||
      api.pcie_throughput(device.handle, nvml::kPcieTx, &tx_kb) != nvml::kSuccess)
    return;
  const int64_t span_us = device.throughput_stamp_ns == 0 ? 0 : (now_ns - device.throughput_stamp_ns) / kNsPerUs;
  add_to(device.rx_estimate, int64_t{rx_kb} * span_us / 1000);
  add_to(device.tx_estimate, int64_t{tx_kb} * span_us / 1000);
  device.throughput_stamp_ns = now_ns;
  device.pcie_read = true;
}

void NvidiaCounters::read_nvlink(Device& device) {
  const nvml::Api& api = session_.api();
  Pair now;
  if (!device.links_one_by_one) {
    now = two_fields(api, device.handle, nvml::kFieldNvlinkDataRx, nvml::kFieldNvlinkDataTx, nvml::kAllLinks);
    device.links_one_by_one = !now.first && !device.nvlink_rx.before && device.nvlink_max;
  }
  for (unsigned int link = 0; device.links_one_by_one && link < nvml::kMaxLinks; ++link) {
    const Pair part = two_fields(api, device.handle, nvml::kFieldNvlinkDataRx, nvml::kFieldNvlinkDataTx, link);
    if (!part.first || !part.second) continue;
    now.first = now.first.value_or(0) + *part.first;
    now.second = now.second.value_or(0) + *part.second;
  }
  if (!now.first || !now.second) return;
  device.nvlink_rx.add(*now.first, 0);
  device.nvlink_tx.add(*now.second, 0);
  device.nvlink_read = true;
}

// Of the totals that this round renewed.
void NvidiaCounters::meter_links(Device& device, int64_t now_ns) {
  const auto total = [](const std::optional<int64_t>& counted, const std::optional<int64_t>& estimate) {
    std::optional<int64_t> sum = counted;
    add_to(sum, estimate);
    return sum;
  };
  if (device.pcie_read)
    device.pcie_meter.take(total(device.pcie_rx.sum, device.rx_estimate), total(device.pcie_tx.sum, device.tx_estimate),
                           device.pcie_max, now_ns);
  if (device.nvlink_read)
    device.nvlink_meter.take(device.nvlink_rx.sum, device.nvlink_tx.sum, device.nvlink_max, now_ns);
}

// A counter of 32 bits runs over within 70 ms on the fastest link: it must be read sooner than that.
int64_t NvidiaCounters::pcie_pace_ns() const {
  int64_t pace_ns = kNsPerSec;
  for (const Device& device : devices_) {
    if (!device.narrow_pcie) continue;
    const int64_t fastest = device.pcie_max.value_or(*pcie_bytes_per_s(6, 16));
    pace_ns =
        std::min(pace_ns, static_cast<int64_t>(0.7e9 * static_cast<double>(kTwo32) / static_cast<double>(fastest)));
  }
  return pace_ns;
}

void NvidiaCounters::read(bool tick, GpuCounters& out) {
  bool fresh = false;
  if (session_.ensure(fresh)) {
    if (devices_.size() < session_.devices()) devices_.resize(session_.devices());
    if (fresh)
      for (Device& device : devices_) forget(device);
    for (Device& device : devices_) device.energy_read = device.pcie_read = device.nvlink_read = false;
    const int64_t start_ns = system_clock().monotonic_ns();
    const bool energy_due = tick && start_ns >= next_energy_ns_;
    const bool throughput_due = tick && start_ns >= next_throughput_ns_;
    bool gone = false;
    for (size_t i = 0; i < session_.devices() && !gone; ++i) {
      Device& device = devices_[i];
      if (!device.back_off.due(start_ns)) continue;
      nvml::Return code = nvml::kSuccess;
      if (device.handle == nullptr && !open(static_cast<unsigned int>(i), device)) code = nvml::kGpuIsLost;
      if (code == nvml::kSuccess && energy_due) {
        code = read_energy(device, system_clock().monotonic_ns());
        read_nvlink(device);
        read_units(device, system_clock().monotonic_ns());
      }
      if (code == nvml::kSuccess || code == nvml::kNotSupported) {
        read_pcie(device);
        if (throughput_due) read_throughput(device, system_clock().monotonic_ns());
        if (tick) meter_links(device, system_clock().monotonic_ns());
        device.back_off.succeeded();
      } else {
        gone = nvml_driver_gone(code);
        device.handle = nullptr;
        device.temperature_mc.reset();
        device.back_off.failed(system_clock().monotonic_ns());
      }
    }
    if (energy_due) next_energy_ns_ = start_ns + kEnergyPaceNs;
    asked_units_ |= energy_due;
    if (throughput_due) next_throughput_ns_ = start_ns + kThroughputPaceNs;
    const bool narrow = std::any_of(devices_.begin(), devices_.end(), [](const Device& d) { return d.narrow_pcie; });
    next_pcie_ns_ = narrow ? start_ns + pcie_pace_ns() : 0;
    add_up(start_ns);
    if (gone) session_.lost();
    else session_.answered();
  }
  if (session_.state() != GpuState::ready) {
    next_pcie_ns_ = 0;
    for (Device& device : devices_) device.temperature_mc.reset();
  }
  tell(out);
}

// Adds to `out` what is known now.
void NvidiaCounters::tell(GpuCounters& out) const {
  for (const Device& device : devices_) {
    add_to(out.pcie_max_bytes_per_s, device.pcie_max);
    add_to(out.nvlink_max_bytes_per_s, device.nvlink_max);
    if (device.temperature_mc)
      out.temperature_mc = std::max(out.temperature_mc.value_or(INT64_MIN), *device.temperature_mc);
    out.energy_by_power |= device.power_uj.has_value();
  }
  add_units(out.gpm);
  tell_units(out);
  add_to(out.energy_uj, shown_.energy_uj);
  add_to(out.pcie_rx_bytes, shown_.pcie_rx_bytes);
  add_to(out.pcie_tx_bytes, shown_.pcie_tx_bytes);
  add_to(out.nvlink_rx_bytes, shown_.nvlink_rx_bytes);
  add_to(out.nvlink_tx_bytes, shown_.nvlink_tx_bytes);
  out.energy_stamp_ns = std::max(out.energy_stamp_ns, shown_.energy_stamp_ns);
  out.pcie_stamp_ns = std::max(out.pcie_stamp_ns, shown_.pcie_stamp_ns);
  out.nvlink_stamp_ns = std::max(out.nvlink_stamp_ns, shown_.nvlink_stamp_ns);
}

// The sums of a group, where every device that has a part in it was read in this round.
void NvidiaCounters::add_up(int64_t now_ns) {
  bool energy = false, pcie = false, nvlink = false;
  bool no_energy = false, no_pcie = false, no_nvlink = false;
  GpuCounters sum;
  for (const Device& device : devices_) {
    energy |= device.energy_read;
    pcie |= device.pcie_read;
    nvlink |= device.nvlink_read;
    no_energy |= (device.energy_mj.sum || device.power_uj) && !device.energy_read;
    no_pcie |= (device.pcie_rx.sum || device.rx_estimate) && !device.pcie_read;
    no_nvlink |= device.nvlink_rx.sum && !device.nvlink_read;
    if (device.energy_mj.sum) add_to(sum.energy_uj, *device.energy_mj.sum * 1000);
    add_to(sum.energy_uj, device.power_uj);
    add_to(sum.pcie_rx_bytes, device.pcie_rx.sum);
    add_to(sum.pcie_tx_bytes, device.pcie_tx.sum);
    add_to(sum.pcie_rx_bytes, device.rx_estimate);
    add_to(sum.pcie_tx_bytes, device.tx_estimate);
    add_to(sum.nvlink_rx_bytes, device.nvlink_rx.sum);
    add_to(sum.nvlink_tx_bytes, device.nvlink_tx.sum);
  }
  if (energy && !no_energy) {
    shown_.energy_uj = sum.energy_uj;
    shown_.energy_stamp_ns = now_ns;
  }
  if (pcie && !no_pcie) {
    shown_.pcie_rx_bytes = sum.pcie_rx_bytes;
    shown_.pcie_tx_bytes = sum.pcie_tx_bytes;
    shown_.pcie_stamp_ns = now_ns;
  }
  if (nvlink && !no_nvlink) {
    shown_.nvlink_rx_bytes = sum.nvlink_rx_bytes;
    shown_.nvlink_tx_bytes = sum.nvlink_tx_bytes;
    shown_.nvlink_stamp_ns = now_ns;
  }
}

}  // namespace tacho
