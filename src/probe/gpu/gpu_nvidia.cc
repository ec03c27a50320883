#include "probe/gpu/gpu_nvidia.h"

#include "os/clock.h"

namespace tacho {
namespace {

// After so many rounds in which no device answered the library is started anew; a lost device alone is not yet a
// reason.
constexpr int kSilentRounds = 3;

}  // namespace

bool nvidia_nodes_present(const NvidiaOptions& options) { return file_exists(options.dev + "/nvidiactl"); }

bool NvmlSession::ensure(bool& fresh) {
  fresh = false;
  if (up_) return true;
  const bool nodes = nvidia_nodes_present(options_);
  // Without device nodes NVML would start nvidia-modprobe to make them: a child of ours, in the middle of the job's. A
  // job that uses a GPU makes them itself, and then they are seen.
  if (!nodes && !was_up_ && file_exists(options_.modprobe) && !file_exists(options_.dev + "/dxg")) {
    state_ = GpuState::none;
    return false;
  }
  if (!back_off_.due(system_clock().monotonic_ns())) return false;
  nvml::Return code = api().init();
  unsigned int count = 0;
  if (code == nvml::kSuccess) {
    code = api().device_count(&count);
    up_ = code == nvml::kSuccess && count > 0;
    if (!up_ && api().shutdown != nullptr) api().shutdown();
  }
  if (up_) {
    devices_ = count;
    was_up_ = fresh = true;
    state_ = GpuState::ready;
    return true;
  }
  // The library without a driver (a CUDA image on any machine) or a driver without a device is a machine without a GPU.
  const bool nothing = code == nvml::kSuccess || code == nvml::kDriverNotLoaded || code == nvml::kLibraryNotFound ||
                       code == nvml::kNotFound || code == nvml::kGpuNotFound;
  const bool none = !was_up_ && nothing && (code == nvml::kSuccess || !nodes);
  state_ = none ? GpuState::none : GpuState::failed;
  back_off_.failed(system_clock().monotonic_ns());
  return false;
}

void NvmlSession::lost() {
  if (api().shutdown != nullptr) api().shutdown();
  up_ = false;
  state_ = GpuState::failed;
  back_off_.failed(system_clock().monotonic_ns());
}

NvidiaBackend::NvidiaBackend(std::shared_ptr<const NvmlLibrary> library, const NvidiaOptions& options)
    : session_(std::move(library), options), pids_(options.roots), job_(pids_) {
  job_.interval_ns = options.interval_ns;
}

PidMapping NvidiaBackend::pid_mapping() const { return pids_.trusted() ? PidMapping::same : PidMapping::unknown; }

void NvidiaBackend::refresh_detail() {
  if (session_.state() != GpuState::ready) return;
  for (NvmlDevice& device : devices_) device.refresh_detail(session_.api());
}

void NvidiaBackend::publish_identities() {
  auto list = std::make_shared<std::vector<GpuIdentity>>();
  for (const NvmlDevice& device : devices_) list->push_back(device.identity());
  identities_ = std::move(list);
}

GpuState NvidiaBackend::sample(const GpuRequest& request, std::vector<GpuSample>& out) {
  bool fresh = false;
  job_.holders.clear();
  if (!session_.ensure(fresh)) {
    out.resize(out.size() + devices_.size());  // known devices, now unknown
    return session_.state();
  }
  if (fresh) {
    devices_.clear();
    for (unsigned int i = 0; i < session_.devices(); ++i) devices_.emplace_back(i);
    silent_rounds_ = 0;
  }
  job_.pids.swap(job_.pids_before);
  job_.pids.assign(request.pids.begin(), request.pids.end());

  const size_t first = out.size();
  bool gone = false, answered = false, changed = fresh;
  for (NvmlDevice& device : devices_) {
    GpuSample& sample = out.emplace_back();
    if (gone) continue;
    const nvml::Return code = device.sample(session_.api(), request.job ? &job_ : nullptr, sample);
    gone = nvml_driver_gone(code);
    answered = answered || code == nvml::kSuccess;
    changed = device.take_changed() || changed;
  }
  if (changed) publish_identities();
  silent_rounds_ = answered ? 0 : silent_rounds_ + 1;
  if (answered && !gone) session_.answered();
  if (gone || silent_rounds_ >= kSilentRounds) {
    // Also what the first devices may have said before the driver went.
    for (size_t i = first; i < out.size(); ++i) out[i] = {};
    job_.holders.clear();
    session_.lost();
  }
  return session_.state();
}

}  // namespace tacho
