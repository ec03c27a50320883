// When a process beside us that has ended is started again: at once, then after 1, 2, 4 … 60 s; one that lasted a
// minute is started again at once. One that never begins, several times in a row (a library is missing), is given up.
// Pure, not thread-safe.
#pragma once
#include <cstdint>
#include <limits>

#include "base/backoff.h"
#include "base/units.h"

namespace tacho {

class Restarts {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr int kMaxStillborn = 5;
  static constexpr int64_t kLasting_ns = 60 * kNsPerSec;

  void started(int64_t now_ns) { started_ns_ = now_ns, at_ns_ = kNever; }
  // began: it came so far as to take its work.
  void ended(int64_t now_ns, bool began);

  int64_t at_ns() const { return at_ns_; }  // of the next start
  bool given_up() const { return stillborn_ >= kMaxStillborn; }

 private:
  int64_t at_ns_ = kNever, started_ns_ = 0;
  DoublingPause pause_ns_{kNsPerSec, kLasting_ns};
  bool at_once_ = true;  // the next one
  int stillborn_ = 0;
};

}  // namespace tacho
