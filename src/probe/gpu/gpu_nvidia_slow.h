// NVIDIA's slow counters. On an H200: total energy 4 ms (the driver renews it every 100 ms), temperature 0.4 ms, PCIe
// byte counters 0.6 ms, PCIe throughput 20 ms a direction (it samples that long). Lives on the thread of the slow
// counters.
#pragma once
#include <memory>
#include <vector>

#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/gpu_link_meter.h"
#include "probe/gpu/gpu_nvidia.h"
#include "probe/gpu/nvml_gpm.h"

namespace tacho {

// Bytes a second in one direction: what a link of that generation and width can carry, after line coding.
std::optional<int64_t> pcie_bytes_per_s(unsigned int generation, unsigned int width);

class NvidiaCounters final : public GpuCounterSource {
 public:
  NvidiaCounters(std::shared_ptr<const NvmlLibrary> library, const NvidiaOptions& options)
      : session_(std::move(library), options) {}
  void read(bool tick, GpuCounters& out) override;
  int64_t next_ns() const override { return next_pcie_ns_; }

 private:
  // A counter of the driver's and what it has added so far.
  struct Total {
    std::optional<uint64_t> before;
    std::optional<int64_t> sum;
    void add(uint64_t now, uint64_t modulus);  // modulus 0: does not wrap
  };
  struct Device {
    nvml::Device handle = nullptr;
    BackOff back_off;
    std::optional<int64_t> pcie_max, nvlink_max, temperature_mc;
    Total energy_mj, pcie_rx, pcie_tx, nvlink_rx, nvlink_tx;
    std::optional<int64_t> power_uj, rx_estimate, tx_estimate;  // levels times time, where no counter is
    int64_t power_stamp_ns = 0, throughput_stamp_ns = 0;
    NvmlGpm gpm;
    GpuUnits units;
    GpuLinkMeter pcie_meter, nvlink_meter;
    bool no_pcie_counter = false, narrow_pcie = false, links_one_by_one = false;
    bool energy_read = false, pcie_read = false, nvlink_read = false;  // in this round
  };

  bool open(unsigned int index, Device& device);
  static void forget(Device& device);  // what its counters were: it may be another device, or one that began anew
  void add_up(int64_t now_ns);
  void tell(GpuCounters& out) const;
  nvml::Return read_energy(Device& device, int64_t now_ns);
  void read_pcie(Device& device);
  void read_throughput(Device& device, int64_t now_ns);
  void read_nvlink(Device& device);
  void read_link_limits(Device& device);
  static void meter_links(Device& device, int64_t now_ns);
  void read_units(Device& device, int64_t now_ns);
  void add_units(GpuUnits& out) const;
  void tell_units(GpuCounters& out) const;
  int64_t pcie_pace_ns() const;

  NvmlSession session_;
  std::vector<Device> devices_;
  int64_t next_energy_ns_ = 0, next_pcie_ns_ = 0, next_throughput_ns_ = 0;
  bool asked_units_ = false;  // the devices were asked whether they have GPM
  GpuCounters shown_;
};

}  // namespace tacho
