// The job's share of one NVIDIA device: contexts and memory from the driver's process lists, utilisation from its
// samples. Lives on the GPU thread; buffers are kept from round to round.
#pragma once
#include <sys/types.h>

#include <span>
#include <vector>

#include "base/units.h"
#include "probe/gpu/gpu_device.h"
#include "probe/gpu/gpu_pids.h"
#include "probe/gpu/nvml_api.h"

namespace tacho {

// What a round knows about the job, shared by all devices.
struct NvmlJob {
  explicit NvmlJob(GpuPids& mapping) : mapping(mapping) {}
  GpuPids& mapping;
  std::vector<pid_t> pids, pids_before;  // of this round and of the one before, ascending
  int64_t interval_ns = kNsPerSec;

  std::vector<ProcessVram> holders;  // what its processes hold in this round

  // Scratch.
  std::vector<nvml::ProcessInfo> infos;
  std::vector<nvml::ProcessInfoV1> infos_v1;
  std::vector<nvml::ProcessUtilizationSample> samples;

  bool has(pid_t pid) const;
  bool had(pid_t pid) const;
};

class NvmlProcesses {
 public:
  // `device` is the physical one, `instances` its MIG instances where it has any. Fills the job_* members of `out`;
  // returns the driver's code when the driver or the device is gone.
  nvml::Return read(const nvml::Api& api, nvml::Device device, std::span<const nvml::Device> instances, NvmlJob& job,
                    GpuSample& out);

 private:
  struct Holder {
    pid_t pid;
    unsigned long long bytes;
  };
  bool add_lists(const nvml::Api& api, nvml::Device device, NvmlJob& job, nvml::Return& code);
  void add_holder(size_t first, pid_t pid, unsigned long long bytes);
  void read_usage(const nvml::Api& api, nvml::Device device, NvmlJob& job, nvml::Return& code);
  int64_t mean_usage_ppm(NvmlJob& job, size_t count);

  std::vector<Holder> holders_;          // of the job: one entry a process and MIG instance
  std::vector<pid_t> held_before_;       // pids of the round before, ascending
  unsigned long long last_seen_us_ = 0;  // the newest sample so far, in the driver's time
  int64_t next_usage_ns_ = 0;            // not asked again before
  std::optional<int64_t> usage_ppm_;
};

}  // namespace tacho
