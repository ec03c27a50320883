// How a task's samples are spread over what was asked for: how many of them used so many percent of the CPUs, the
// memory, the working disk. Drawn as violins. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cromwell/analyze_fit.h"

namespace tacho {

class UseShares {
 public:
  static constexpr int kStepPercent = 2;
  static constexpr size_t kSteps = 61;  // the last one: 120 % and more

  void add(Resource resource, double used, double asked);  // NaN, or nothing asked for: no share
  // By steps; empty: no sample.
  const std::vector<uint32_t>& counts(Resource resource) const { return counts_[static_cast<size_t>(resource)]; }
  // The middle of the step that this share of the samples does not exceed; of an empty one 0.
  double quantile(Resource resource, double share) const;
  bool is_empty() const;

 private:
  std::array<std::vector<uint32_t>, 3> counts_;
};

// All three side by side, in percent of what was asked for.
std::string violin_svg(const UseShares& shares, const std::string& label);

}  // namespace tacho
