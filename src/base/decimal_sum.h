// The sum of decimals as they are written (0.1 + 0.02 is 0.12, not 0.12000000000000001), in whole millionths: whoever
// adds up the same rows comes to the same number. Pure; not thread-safe.
#pragma once
#include <cmath>

namespace tacho {

class DecimalSum {
 public:
  // More than any counter has would only spoil the sum.
  void add(double value) {
    if (std::fabs(value) < 1e18) millionths_ += static_cast<Whole>(std::round(value * kMillion));
  }
  // The nearest number to the sum.
  double value() const {
    constexpr Whole kExact = Whole{1} << 53, kUnit = 1'000'000;
    if (millionths_ < kExact && millionths_ > -kExact) return static_cast<double>(millionths_) / kMillion;
    return static_cast<double>(millionths_ / kUnit) + static_cast<double>(millionths_ % kUnit) / kMillion;
  }

 private:
  __extension__ using Whole = __int128;
  static constexpr double kMillion = 1e6;
  Whole millionths_ = 0;
};

}  // namespace tacho
