// The GPU probes. "gpu": utilisation, memory and the job's share of all NVIDIA (NVML, loaded at run time by a process
// of its own, gpu_reader.h) and AMD (sysfs, fdinfo) devices, asked for on a thread of its own at the pace of ticks.
// "gpu_extra": power, temperature, PCIe and NVLink on a second thread, because those calls block for milliseconds.
// Without a GPU there is no thread, no process and no delay. A probe itself is used by the sampling thread only.
#pragma once
#include <string>
#include <vector>

#include "model/run.h"
#include "probe/gpu/gpu_sampler.h"
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kGpuProbe, kGpuExtraProbe;

// The fields of kGpuProbe's reading from what the GPU thread found. A device that never told a value has no part in its
// sum; while one that did cannot be read, the sum is left empty, since that of the others would look like less use.
class GpuSums {
 public:
  // False when a sum lacks a device.
  bool fill(const GpuSnapshot& snapshot, Reading& out);

 private:
  struct Device {
    std::string name;     // its UUID, else its place on the bus or in the list
    unsigned parts = 0;   // the sums that it was part of
    bool listed = false;  // in this round
  };
  Device& device(const GpuSnapshot& snapshot, size_t index);

  std::vector<Device> known_;
};

// Whether GPUs can be read here, and if not, what to do. Asks the driver, but waits two seconds at the most.
Status check_gpu(const Roots& roots);

}  // namespace tacho
