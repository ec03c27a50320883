#include "probe/gpu/nvml_gpm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kClosestNs = 100 * kNsPerMs;  // closer samples have no figure for the memory

// Percent, or what a driver says instead: not a number, below 0, above 100.
std::optional<int64_t> share_ppm(const nvml::GpmMetric& metric) {
  if (metric.status != nvml::kSuccess || !std::isfinite(metric.value)) return std::nullopt;
  return std::llround(std::clamp(metric.value, 0.0, 100.0) * 1e4);
}

}  // namespace

void NvmlGpm::swap(NvmlGpm& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(before_, other.before_);
  std::swap(now_, other.now_);
  std::swap(metrics_, other.metrics_);
  std::swap(asked_, other.asked_);
  std::swap(supported_, other.supported_);
  std::swap(sampled_ns_, other.sampled_ns_);
}

void NvmlGpm::close() {
  for (nvml::GpmSample* sample : {&before_, &now_}) {
    if (*sample != nullptr && api_->gpm_free != nullptr) api_->gpm_free(*sample);
    *sample = nullptr;
  }
}

bool NvmlGpm::open(const nvml::Api& api, nvml::Device device) {
  if (asked_) return supported_;
  asked_ = true;
  supported_ = false;
  api_ = &api;
  if (api.gpm_support == nullptr || api.gpm_alloc == nullptr || api.gpm_sample == nullptr || api.gpm_metrics == nullptr)
    return false;
  // With MIG the figures are of the whole device, of which the job has a slice.
  unsigned int mig = 0, pending = 0;
  if (api.mig_mode != nullptr && api.mig_mode(device, &mig, &pending) == nvml::kSuccess && mig == nvml::kMigEnabled)
    return false;
  nvml::GpmSupport support{nvml::kGpmVersion, 0};
  if (api.gpm_support(device, &support) != nvml::kSuccess || support.is_supported == 0) return false;
  for (nvml::GpmSample* sample : {&before_, &now_})
    if (*sample == nullptr && api.gpm_alloc(sample) != nvml::kSuccess) return false;
  return supported_ = true;
}

bool NvmlGpm::read(const nvml::Api& api, nvml::Device device, int64_t now_ns, GpuUnits& out) {
  if (!open(api, device) || (sampled_ns_ > 0 && now_ns - sampled_ns_ < kClosestNs)) return false;
  if (api.gpm_sample(device, now_) != nvml::kSuccess) return false;
  const bool first = sampled_ns_ == 0;
  sampled_ns_ = now_ns;
  if (!metrics_) metrics_ = std::make_unique<nvml::GpmMetrics>();
  nvml::GpmMetrics* const metrics = metrics_.get();
  *metrics = {nvml::kGpmVersion, 4, before_, now_, {}};
  constexpr unsigned int kIds[] = {nvml::kGpmSmUtil, nvml::kGpmSmOccupancy, nvml::kGpmAnyTensorUtil,
                                   nvml::kGpmDramUtil};
  for (size_t i = 0; i < std::size(kIds); ++i) metrics->metrics[i].id = kIds[i];
  const bool told = !first && api.gpm_metrics(metrics) == nvml::kSuccess;
  std::swap(before_, now_);
  if (!told) return false;
  out = {share_ppm(metrics->metrics[0]), share_ppm(metrics->metrics[1]), share_ppm(metrics->metrics[2]),
         share_ppm(metrics->metrics[3]), now_ns};
  return true;
}

}  // namespace tacho
