#include "probe/gpu/nvml_library.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "os/environment.h"
#include "os/file.h"
#include "os/library.h"

namespace tacho {
namespace {

constexpr const char* kSoname = "libnvidia-ml.so.1";
constexpr std::array kUsualFolders = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
    "/usr/local/nvidia/lib64",   "/usr/local/nvidia/lib",      "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
};

// The last is WSL's.
constexpr std::array kTracesOfADriver = {"/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg"};

// The first of the names that the library has.
template <class Function>
void find(const Library& library, Function*& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function*>(library.symbol(name));
    if (function != nullptr) return;
  }
}

void find_processes(const Library& library, nvml::Api& api) {
  struct Names {
    const char *v3, *v2, *v1;
  };
  constexpr std::array<Names, 3> kLists = {{
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
       "nvmlDeviceGetComputeRunningProcesses"},
      {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
       "nvmlDeviceGetGraphicsRunningProcesses"},
      {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
       "nvmlDeviceGetMPSComputeRunningProcesses"},
  }};
  // The first 535 drivers had a larger structure in _v3 and took that back: they are known by these two functions.
  // Their _v2 is as it always was.
  const bool odd_v3 = library.symbol("nvmlDeviceGetConfComputeMemSizeInfo") != nullptr &&
                      library.symbol("nvmlDeviceGetRunningProcessDetailList") == nullptr;
  for (size_t i = 0; i < kLists.size(); ++i) {
    if (!odd_v3) find(library, api.processes[i], {kLists[i].v3});
    if (api.processes[i] == nullptr) find(library, api.processes[i], {kLists[i].v2});
    find(library, api.processes_v1[i], {kLists[i].v1});
  }
}

nvml::Api find_functions(const Library& library) {
  nvml::Api api;
  find(library, api.init, {"nvmlInit_v2", "nvmlInit"});
  find(library, api.shutdown, {"nvmlShutdown"});
  find(library, api.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(library, api.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(library, api.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, api.error_string, {"nvmlErrorString"});
  find(library, api.name, {"nvmlDeviceGetName"});
  find(library, api.uuid, {"nvmlDeviceGetUUID"});
  find(library, api.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  find(library, api.pci_info_old, {"nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  find(library, api.core_count, {"nvmlDeviceGetNumGpuCores"});
  find(library, api.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(library, api.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  find(library, api.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, api.temperature, {"nvmlDeviceGetTemperature"});
  find(library, api.power, {"nvmlDeviceGetPowerUsage"});
  find(library, api.clock, {"nvmlDeviceGetClockInfo"});
  find(library, api.clock_events,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find_processes(library, api);
  find(library, api.process_utilization, {"nvmlDeviceGetProcessUtilization"});
  find(library, api.mig_mode, {"nvmlDeviceGetMigMode"});
  find(library, api.mig_device_count, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(library, api.mig_device, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(library, api.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  find(library, api.gpm_alloc, {"nvmlGpmSampleAlloc"});
  find(library, api.gpm_free, {"nvmlGpmSampleFree"});
  find(library, api.gpm_sample, {"nvmlGpmSampleGet"});
  find(library, api.gpm_metrics, {"nvmlGpmMetricsGet"});
  find(library, api.total_energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, api.field_values, {"nvmlDeviceGetFieldValues"});
  find(library, api.pcie_throughput, {"nvmlDeviceGetPcieThroughput"});
  find(library, api.pcie_max_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(library, api.pcie_max_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  return api;
}

// Empty: none was chosen.
std::string chosen_library() { return environment_or("TACHO_NVML_LIBRARY"); }

Result<Library> open_library() {
  if (const std::string chosen = chosen_library(); !chosen.empty()) return Library::open(chosen);
  auto library = Library::open(kSoname);
  for (size_t i = 0; !library && i < kUsualFolders.size(); ++i) {
    const std::string path = std::string(kUsualFolders[i]) + "/" + kSoname;
    if (!file_exists(path)) continue;
    auto other = Library::open(path);
    if (other) return other;
  }
  return library;
}

Status search() {
  const std::string chosen = chosen_library();
  bool found = Library::is_installed(chosen.empty() ? kSoname : chosen);
  for (size_t i = 0; chosen.empty() && !found && i < kUsualFolders.size(); ++i)
    found = Library::is_installed(std::string(kUsualFolders[i]) + "/" + kSoname);
  if (found) return ok();
  if (chosen.empty() && std::none_of(kTracesOfADriver.begin(), kTracesOfADriver.end(), file_exists))
    return Error{Code::not_available, "cannot load the library", kSoname,
                 "it is not installed, and no driver is loaded"};
  // Where it is otherwise, only the linker knows; its own words.
  const auto library = open_library();
  return library ? ok() : Status(library.error());
}

}  // namespace

Status find_nvml() {
  // The linker looks into a hundred places, and each part that shows GPUs asks.
  static std::mutex mutex;
  static std::optional<std::pair<std::string, Status>> known;
  const std::lock_guard lock(mutex);
  std::string chosen = chosen_library();
  if (!known || known->first != chosen) known.emplace(std::move(chosen), search());
  return known->second;
}

Result<std::shared_ptr<const NvmlLibrary>> load_nvml() {
  if (const Status found = find_nvml(); !found) return found.error();
  const auto library = open_library();
  if (!library) return library.error();
  auto loaded = std::make_shared<NvmlLibrary>();
  loaded->path = library->name();
  loaded->api = find_functions(*library);
  const nvml::Api& api = loaded->api;
  if (api.init == nullptr || api.device_count == nullptr || api.handle_by_index == nullptr)
    return Error{Code::invalid, "this is no NVIDIA management library", loaded->path,
                 "install the libnvidia-ml of your driver, or unset TACHO_NVML_LIBRARY"};
  return std::shared_ptr<const NvmlLibrary>(std::move(loaded));
}

std::string nvml_message(const nvml::Api& api, nvml::Return code) {
  const char* text = api.error_string != nullptr ? api.error_string(code) : nullptr;
  return std::string(text != nullptr ? text : "error") + " (" + std::to_string(code) + ")";
}

}  // namespace tacho
