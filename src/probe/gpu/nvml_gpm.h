// What the units of one NVIDIA GPU do between two samples of its GPM counters. Lives on the slow thread of the driver's
// calls: a sample costs 0.1 ms, the metrics 2 ms. Not thread-safe.
#pragma once
#include <memory>

#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/nvml_api.h"

namespace tacho {

class NvmlGpm {
 public:
  NvmlGpm() = default;
  NvmlGpm(NvmlGpm&& other) noexcept { swap(other); }
  NvmlGpm& operator=(NvmlGpm&& other) noexcept {
    swap(other);
    return *this;
  }
  ~NvmlGpm() { close(); }

  // Takes a sample, unless the last one is less than a tenth of a second old, and sets what happened since that one.
  // False: nothing new, or this GPU has no such counters.
  bool read(const nvml::Api& api, nvml::Device device, int64_t now_ns, GpuUnits& out);
  // Whether this GPU has such counters; false until it was asked.
  bool supported() const { return supported_; }
  // The device is another one or begins anew: what was sampled before says nothing about it.
  void forget() { sampled_ns_ = 0, asked_ = false; }

 private:
  bool open(const nvml::Api& api, nvml::Device device);
  void close();
  void swap(NvmlGpm& other) noexcept;

  const nvml::Api* api_ = nullptr;
  nvml::GpmSample before_ = nullptr, now_ = nullptr;
  std::unique_ptr<nvml::GpmMetrics> metrics_;
  bool asked_ = false, supported_ = false;
  int64_t sampled_ns_ = 0;  // 0: before_ holds nothing
};

}  // namespace tacho
