// The program that is the NVML reader (gpu_reader.h). A dynamic program is its own. A static one cannot load a library
// of the machine, so tacho-gpu does it, a small dynamic program next to it; TACHO_GPU_HELPER names another. Both
// sides of a reader must agree on what they say to each other, and may have been built apart. Thread-safe.
#pragma once
#include <string>

#include "base/result.h"
#include "probe/gpu/gpu_nvidia.h"

namespace tacho {

std::string gpu_helper();  // its path; empty: this same program
// Whether it can be started here at all: it is there, may be executed, is for this machine, and its loader is there.
// If not, that is a fault (io): whether there are GPUs is then unknown.
Status check_gpu_helper(const std::string& path);
// Starts it and asks for one round: for the doctor.
Status ask_gpu_helper(const std::string& path, const NvidiaOptions& options);

}  // namespace tacho
