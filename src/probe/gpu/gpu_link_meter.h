// How full a link of one GPU was between two readings of its totals. A sum over all GPUs hides the one link that is
// full among idle ones. Pure but for what it remembers; of the thread of the slow counters.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "probe/gpu/gpu_counters.h"

namespace tacho {

class GpuLinkMeter {
 public:
  // Totals that were read just now. Closer readings than the driver renews its own counters say nothing.
  void take(const std::optional<int64_t>& rx_bytes, const std::optional<int64_t>& tx_bytes,
            const std::optional<int64_t>& most_bytes_per_s, int64_t now_ns) {
    if (!rx_bytes || !tx_bytes || !most_bytes_per_s || *most_bytes_per_s <= 0) return;
    const int64_t span_ns = now_ns - stamp_ns_;
    if (stamp_ns_ > 0 && span_ns < kClosestNs) return;
    if (stamp_ns_ > 0) {
      const auto grown = static_cast<double>(std::max<int64_t>({0, *rx_bytes - rx_bytes_, *tx_bytes - tx_bytes_}));
      const double possible = static_cast<double>(*most_bytes_per_s) * static_cast<double>(span_ns) / kNsPerSec;
      level_ = {now_ns, static_cast<int64_t>(1e6 * std::min(1.0, grown / possible))};
    }
    rx_bytes_ = *rx_bytes;
    tx_bytes_ = *tx_bytes;
    stamp_ns_ = now_ns;
  }
  // The totals begin anew, or stood still for a time that nobody knows.
  void forget() { *this = {}; }
  const GpuLinkLevel& level() const { return level_; }

 private:
  static constexpr int64_t kClosestNs = 90 * kNsPerMs;

  int64_t rx_bytes_ = 0, tx_bytes_ = 0, stamp_ns_ = 0;  // 0: nothing was read yet
  GpuLinkLevel level_;
};

}  // namespace tacho
