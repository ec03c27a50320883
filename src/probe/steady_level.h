// A level of the machine that trembles: shown as it was until it has moved by a whole step, then with as many digits as a
// step has meaning. The digits behind them change with every reading and tell nothing, but they do not compress, and were a
// fourth of what is sent. The last of a run is always as read. Not thread-safe.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace tacho {

class SteadyLevel {
 public:
  // None is negative; `unit` is what the column counts in: 1 MiB, 1 GB.
  int64_t show(int64_t now, int64_t step, int64_t unit, bool exact) {
    if (exact || !known_ || step <= 0) shown_ = now;
    else if (std::abs(now - shown_) >= step) shown_ = rounded(static_cast<double>(now), static_cast<double>(step), static_cast<double>(unit));
    known_ = true;
    return shown_;
  }
  int64_t shown() const { return shown_; }

 private:
  // To the largest power of ten of the unit that is no more than a step. Without libm, whose tables are 200 KiB of memory.
  static int64_t rounded(double now, double step, double unit) {
    double digit = unit;
    while (digit > step) digit /= 10;
    while (digit * 10 <= step) digit *= 10;
    const auto digits = static_cast<int64_t>(now / digit + 0.5);
    return static_cast<int64_t>(static_cast<double>(digits) * digit + 0.5);
  }

  int64_t shown_ = 0;
  bool known_ = false;
};

}  // namespace tacho
