// NVIDIA devices through NVML: starts the driver's library, reads every device, and starts it again after a pause when
// the driver disappeared (an upgrade, a reset). Lives on the GPU thread; nvmlInit alone may take half a second.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "os/file.h"
#include "probe/gpu/gpu_device.h"
#include "probe/gpu/nvml_device.h"
#include "probe/gpu/nvml_library.h"

namespace tacho {

struct NvidiaOptions {
  Roots roots;
  std::string dev = "/dev";
  std::string modprobe = "/usr/bin/nvidia-modprobe";
  int64_t interval_ns = kNsPerSec;
};

// The kernel driver made its device nodes: then a silent library is a fault, not a machine without a GPU.
bool nvidia_nodes_present(const NvidiaOptions& options);

// Initialisation of NVML with its retries; also used by the slow counters.
class NvmlSession {
 public:
  NvmlSession(std::shared_ptr<const NvmlLibrary> library, NvidiaOptions options)
      : library_(std::move(library)), options_(std::move(options)) {}
  // True when the driver is up; `fresh` is set when it came up just now and the devices are to be made anew.
  bool ensure(bool& fresh);
  void lost();  // every call fails: try anew, after a pause that grows
  void answered() { back_off_.succeeded(); }
  const nvml::Api& api() const { return library_->api; }
  GpuState state() const { return state_; }
  unsigned int devices() const { return devices_; }

 private:
  std::shared_ptr<const NvmlLibrary> library_;
  NvidiaOptions options_;
  bool up_ = false, was_up_ = false;
  unsigned int devices_ = 0;
  GpuState state_ = GpuState::starting;
  BackOff back_off_;
};

class NvidiaBackend final : public GpuBackend {
 public:
  NvidiaBackend(std::shared_ptr<const NvmlLibrary> library, const NvidiaOptions& options);
  GpuState sample(const GpuRequest& request, std::vector<GpuSample>& out) override;
  std::shared_ptr<const std::vector<GpuIdentity>> identities() const override { return identities_; }
  void refresh_detail() override;
  std::span<const ProcessVram> holders() const override { return job_.holders; }
  PidMapping pid_mapping() const override;
  std::string_view method() const override { return "nvml"; }

 private:
  void publish_identities();

  NvmlSession session_;
  GpuPids pids_;
  NvmlJob job_;
  std::vector<NvmlDevice> devices_;
  std::shared_ptr<const std::vector<GpuIdentity>> identities_;
  int silent_rounds_ = 0;  // in a row, without an answer of any device
};

}  // namespace tacho
