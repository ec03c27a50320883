#include "monitor/core_rates.h"

#include <algorithm>

namespace tacho {
namespace {

double share(int64_t part, int64_t all) {
  return std::clamp(100 * static_cast<double>(part) / static_cast<double>(all), 0.0, 100.0);
}

}  // namespace

void CoreRates::update(std::span<const CoreDetail> cores) {
  next_.clear();
  percent_.clear();
  int64_t all_sum = 0, iowait_sum = 0, steal_sum = 0;
  for (size_t i = 0; i < cores.size(); ++i) {
    const CoreDetail& now = cores[i];
    Core core{now, 0};
    const auto same = [&](const Core& other) { return other.last.number == now.number; };
    // Nearly always at the same place as before.
    const auto before = i < cores_.size() && same(cores_[i]) ? cores_.begin() + static_cast<std::ptrdiff_t>(i)
                                                             : std::find_if(cores_.begin(), cores_.end(), same);
    if (before != cores_.end()) {
      const int64_t all = now.total_ns - before->last.total_ns;
      const int64_t busy = all - (now.idle_ns - before->last.idle_ns);
      core.percent = all <= 0 ? before->percent : share(busy, all);
      percent_.push_back(core.percent);
      if (all > 0) {
        all_sum += all;
        iowait_sum += std::max<int64_t>(0, now.iowait_ns - before->last.iowait_ns);
        steal_sum += std::max<int64_t>(0, now.steal_ns - before->last.steal_ns);
      }
    }
    next_.push_back(core);
  }
  std::swap(cores_, next_);
  if (all_sum > 0) {
    iowait_ = share(iowait_sum, all_sum);
    steal_ = share(steal_sum, all_sum);
  }
}

}  // namespace tacho
