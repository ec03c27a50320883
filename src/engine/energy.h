// The energy of a run, from the sums of its columns; run.json has it as `energy`. Pure.
#pragma once
#include <string_view>

#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// Measured, or empty: never estimated by what a processor may use at most. The job's part of the CPUs' energy is by its
// part of the machine's CPU time; of the GPUs' by its part of their use.
// gpu_method: how the GPUs' was read, "nvml" or "nvml_power".
void fill_energy(Run& run, const Summary& summary, std::string_view gpu_method);

}  // namespace tacho
