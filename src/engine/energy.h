// The energy of a run, from the sums of its columns; run.json has it as `energy`. Pure.
#pragma once
#include <string_view>

#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// Measured, or empty: never estimated by what a processor may use at most. The job's part of the CPUs' energy is by its
// part of the machine's CPU time; of the GPUs' by its part of their use.
class EnergyKeeper {
 public:
  void begin(const Schema& schema);
  // gpu_method: how the GPUs' was read, "nvml" or "nvml_power".
  void update(Run& run, const Summary& summary, std::string_view gpu_method) const;

 private:
  size_t cpu_ = 0, gpu_ = 0, job_cores_ = 0, all_cores_ = 0, job_gpus_ = 0, all_gpus_ = 0;  // 0: no such column
};

}  // namespace tacho
