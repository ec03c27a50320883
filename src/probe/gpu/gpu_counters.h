// Power, temperature, PCIe and NVLink traffic of all GPUs, summed: what takes milliseconds to read and therefore has a
// thread and a pace of its own. A source lives on that thread; counters are plain values.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace tacho {

// What the units of the GPUs do, in millionths, mean over those that tell (GPM).
struct GpuUnits {
  std::optional<int64_t> sm_ppm, occupancy_ppm, tensor_ppm, dram_ppm;
  int64_t stamp_ns = 0;  // 0: not yet
};

inline constexpr size_t kMostDevices = 128;
inline constexpr size_t kGpuUnits = 4;  // SM active, SM occupancy, tensor, DRAM

// How full a link was, in its busier direction, in millionths of its speed.
struct GpuLinkLevel {
  int64_t stamp_ns = 0;  // 0: not yet
  int64_t ppm = 0;
};

// What one device by itself did.
struct GpuUnitsOfDevice {
  int64_t stamp_ns = 0;                                // 0: not yet
  std::array<int32_t, kGpuUnits> ppm{-1, -1, -1, -1};  // -1: not told
  GpuLinkLevel pcie, nvlink;                           // all of its NVLink links together
};

// Totals grow from 0 at the first reading, a device at a time, so that one that fails or comes back makes no jump.
// Every group carries the moment (CLOCK_MONOTONIC) it was read at; 0: not yet. A group stands still while a device that
// is part of it cannot be read, and then goes on with what all of them added meanwhile: never a sum of fewer devices.
struct GpuCounters {
  std::optional<int64_t> energy_uj;
  std::optional<int64_t> pcie_rx_bytes, pcie_tx_bytes;
  std::optional<int64_t> nvlink_rx_bytes, nvlink_tx_bytes;
  int64_t energy_stamp_ns = 0, pcie_stamp_ns = 0, nvlink_stamp_ns = 0;
  std::optional<int64_t> temperature_mc;  // the highest
  std::optional<int64_t> pcie_max_bytes_per_s, nvlink_max_bytes_per_s;
  GpuUnits gpm;
  std::array<GpuUnitsOfDevice, kMostDevices> units;  // of NVIDIA's, in the driver's order
  uint32_t unit_devices = 0;                         // of these; 0: none of them has GPM
  bool units_known = false;                          // the devices were asked whether they have it
  bool energy_by_power = false;                      // of a device that counts no energy: its power, multiplied by time
  int64_t epoch =
      0;  // totals of different ones have nothing to do with each other: the reader process was started anew
};

inline void add_to(std::optional<int64_t>& sum, const std::optional<int64_t>& part) {
  if (part) sum = sum.value_or(0) + *part;
}

class GpuCounterSource {
 public:
  virtual ~GpuCounterSource() = default;
  // Reads what is due and adds this source's part to `out`. `tick`: a row is about to be written.
  virtual void read(bool tick, GpuCounters& out) = 0;
  // When it has to be called again even without a tick; 0: never.
  virtual int64_t next_ns() const { return 0; }
};

}  // namespace tacho
