#include "monitor/schedule.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kFirstSample_ns = 50 * kNsPerMs;
constexpr int64_t kFirstReport_ns = 2 * kNsPerSec;
constexpr int64_t kHurried_ns = kNsPerSec;

}  // namespace

SampleGrid::SampleGrid(int64_t start_ns, int64_t interval_ns)
    : start_ns_(start_ns), interval_ns_(interval_ns), next_ns_(start_ns + std::min(kFirstSample_ns, interval_ns)) {}

void SampleGrid::taken(int64_t now_ns) {
  const int64_t passed = std::max<int64_t>(0, now_ns - start_ns_) / interval_ns_;
  next_ns_ = start_ns_ + (passed + 1) * interval_ns_;
}

ReportTimes::ReportTimes(int64_t start_ns, std::optional<int64_t> chosen_ns, int64_t default_ns, double random)
    : interval_ns_(chosen_ns.value_or(default_ns)),
      next_ns_(start_ns + (chosen_ns ? *chosen_ns : kFirstReport_ns)),
      random_(chosen_ns ? -1 : std::clamp(random, 0.0, 1.0)) {}

void ReportTimes::sent(int64_t now_ns) {
  if (random_ >= 0) {
    next_ns_ += static_cast<int64_t>(random_ * static_cast<double>(interval_ns_));
    random_ = -1;
  } else {
    next_ns_ += interval_ns_;
  }
  // Late, or stopped for a while: one report is enough.
  if (next_ns_ <= now_ns) next_ns_ = now_ns + interval_ns_;
}

void ReportTimes::hurry(int64_t now_ns) {
  interval_ns_ = std::min(interval_ns_, kHurried_ns);
  next_ns_ = std::min(next_ns_, now_ns + interval_ns_);
  random_ = -1;
}

}  // namespace tacho
