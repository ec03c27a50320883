// NVIDIA among the vendors: the way to its driver, and what the doctor says of it.
#include <mutex>

#include "base/units.h"
#include "os/clock.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/gpu/gpu_nvidia.h"
#include "probe/gpu/gpu_reader.h"
#include "probe/gpu/gpu_vendor.h"

namespace tacho {
namespace {

constexpr int64_t kPatienceNs = 2 * kNsPerSec;

struct Answer {
  WaitLock wait_lock;
  bool done = false;
  nvml::Return code = nvml::kUnknown;
  unsigned int devices = 0;
};

// Asks on a thread of its own: a driver in trouble may never answer.
Status ask_driver(const std::shared_ptr<const NvmlLibrary>& library) {
  auto answer = std::make_shared<Answer>();
  const bool started = start_detached_thread("tacho-gpu-check", [answer, library] {
    const nvml::Api& api = library->api;
    unsigned int count = 0;
    nvml::Return code = api.init();
    if (code == nvml::kSuccess) {
      code = api.device_count(&count);
      if (api.shutdown != nullptr) api.shutdown();
    }
    const std::lock_guard lock(answer->wait_lock);
    answer->code = code;
    answer->devices = count;
    answer->done = true;
    answer->wait_lock.notify_all();
  });
  if (!started) return Error{Code::io, "no thread could be started to ask the GPU driver", "", "raise ulimit -u"};
  const std::lock_guard lock(answer->wait_lock);
  const int64_t deadline_ns = system_clock().monotonic_ns() + kPatienceNs;
  while (!answer->done)
    if (!answer->wait_lock.wait_until(deadline_ns))
      return Error{Code::io, "the NVIDIA driver does not answer", library->path,
                   "see dmesg; a reset or reboot may help"};
  if (answer->code != nvml::kSuccess)
    return Error{answer->code == nvml::kNoPermission ? Code::denied : Code::not_available,
                 "the NVIDIA driver refuses: " + nvml_message(library->api, answer->code), library->path,
                 "check that nvidia-smi works for this user"};
  if (answer->devices == 0)
    return Error{Code::not_available, "the NVIDIA driver has no device", library->path,
                 "in a container, pass the GPUs through (--gpus all)"};
  return ok();
}

NvidiaOptions options_of(const ProbeContext& context) {
  NvidiaOptions options;
  options.roots = context.roots;
  options.interval_ns = context.interval_ns;
  return options;
}

Result<GpuAccess> open_nvidia(ProbeContext& context) {
  const NvidiaOptions options = options_of(context);
  const auto nvidia = reach_nvidia(options, context);
  if (nvidia) return GpuAccess{nvidia->backend(options), nvidia->reader};
  Error error = nvidia.error();
  if (error.code != Code::io) error.code = nvidia_nodes_present(options) ? Code::io : Code::not_available;
  return error;
}

Result<GpuCounterAccess> nvidia_counters(ProbeContext& context) {
  const NvidiaOptions options = options_of(context);
  const auto nvidia = reach_nvidia(options, context);
  if (!nvidia) return nvidia.error();
  return GpuCounterAccess{nvidia->counters(options), nvidia->reader};
}

Result<bool> check_nvidia(const Roots& roots) {
  NvidiaOptions options;
  options.roots = roots;
  const std::string helper = gpu_helper();
  Status found = ok();
  if (!helper.empty()) {
    found = find_nvml();
    if (found) {
      if (const Status status = ask_gpu_helper(helper, options); !status) return status.error();
      return true;
    }
  } else if (const auto library = load_nvml(); library) {
    if (const Status status = ask_driver(*library); !status) return status.error();
    return true;
  } else {
    found = library.error();
  }
  Error error = found.error();
  if (error.code != Code::not_available) return error;
  if (!nvidia_nodes_present(options)) return false;
  error.what = "the NVIDIA driver is loaded, but " + error.what;
  error.hint =
      "install libnvidia-ml.so.1 (in a container: NVIDIA_DRIVER_CAPABILITIES=utility), or name it in "
      "TACHO_NVML_LIBRARY";
  return error;
}

}  // namespace

extern const GpuVendor kNvidiaGpus;
const GpuVendor kNvidiaGpus{"nvidia", open_nvidia, nvidia_counters, check_nvidia};

}  // namespace tacho
