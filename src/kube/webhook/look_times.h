// When certificates are looked at again: at an appointed time, and at once when the wall clock was set, since their
// days are counted by it. Pure; not thread-safe.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "base/units.h"

namespace tacho {

class LookTimes {
 public:
  void looked(int64_t monotonic_ns, int64_t realtime_ns, int64_t again_in_ns) {
    next_ns_ = monotonic_ns + again_in_ns;
    between_ns_ = realtime_ns - monotonic_ns;
  }
  bool due(int64_t monotonic_ns, int64_t realtime_ns) const {
    return monotonic_ns >= next_ns_ || std::abs(realtime_ns - monotonic_ns - between_ns_) > kStepNs;
  }
  int64_t next_ns() const { return next_ns_; }

 private:
  static constexpr int64_t kStepNs = 300 * kNsPerSec;
  int64_t next_ns_ = 0, between_ns_ = 0;
};

}  // namespace tacho
