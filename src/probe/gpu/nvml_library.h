// Finds and loads NVIDIA's management library at run time: TACHO_NVML_LIBRARY, then libnvidia-ml.so.1 as the dynamic
// linker finds it, then the places where containers, WSL and NixOS put it. Loading takes under a millisecond; nothing
// of the driver is called here. Thread-safe.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "probe/gpu/nvml_api.h"

namespace tacho {

struct NvmlLibrary {
  nvml::Api api;
  std::string path;  // as it was loaded
};

// Whether load_nvml() would find something to load, without loading it; the error is that of load_nvml().
Status find_nvml();
// Not available: no library, or a static build. Invalid: it lacks what no NVML lacks.
Result<std::shared_ptr<const NvmlLibrary>> load_nvml();

// What a code of the driver means, for a person: "Driver Not Loaded (9)".
std::string nvml_message(const nvml::Api& api, nvml::Return code);

}  // namespace tacho
