// One NVIDIA device: its identity, utilisation, memory and the job's share, MIG instances included. A device that fails
// leaves its own sample empty and is tried again after a while. Lives on the GPU thread.
#pragma once
#include <vector>

#include "probe/gpu/gpu_device.h"
#include "probe/gpu/nvml_api.h"
#include "probe/gpu/nvml_processes.h"

namespace tacho {

// The whole driver is gone, not one device.
bool nvml_driver_gone(nvml::Return code);

class NvmlDevice {
 public:
  explicit NvmlDevice(unsigned int index) : index_(index) {}

  // One round. `job` is null when none is tracked. Returns success, or why the sample is empty.
  nvml::Return sample(const nvml::Api& api, NvmlJob* job, GpuSample& out);
  // Temperature, power and clocks, for the samples that follow; once a second at the most.
  void refresh_detail(const nvml::Api& api);

  const GpuIdentity& identity() const { return identity_; }
  // True once after the identity was read anew.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  nvml::Return open(const nvml::Api& api);
  nvml::Return read(const nvml::Api& api, NvmlJob* job, GpuSample& out);
  void find_instances(const nvml::Api& api, int64_t now_ns);
  nvml::Return read_usage(const nvml::Api& api, GpuSample& out);
  nvml::Return read_memory(const nvml::Api& api, GpuSample& out);

  unsigned int index_;
  nvml::Device handle_ = nullptr;
  GpuIdentity identity_;
  bool changed_ = false;
  BackOff back_off_;
  nvml::Return failure_ = nvml::kSuccess;

  bool mig_ = false;
  std::vector<nvml::Device> instances_;
  int64_t next_instances_ns_ = 0;

  NvmlProcesses processes_;
  int64_t next_detail_ns_ = 0;
  std::optional<int64_t> temperature_mc_, power_mw_, frequency_mhz_, sm_clock_mhz_, clock_events_;
};

}  // namespace tacho
