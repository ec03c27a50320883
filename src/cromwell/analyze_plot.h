// A scatter plot as SVG: what attempts used and asked for against the size of their inputs, and the fitted line.
// Colours are the style sheet's. Pure, thread-safe.
#pragma once
#include <string>
#include <vector>

#include "cromwell/analyze_fit.h"

namespace tacho {

struct ScatterPlot {
  std::string label;  // for who cannot see it
  std::vector<UsePoint> used, failed, asked;
  const ResourceFit* fit = nullptr;

  bool is_empty() const { return used.empty() && failed.empty(); }
  // Of each kind at most so many points, the largest in any case.
  std::string svg(size_t most_points) const;
};

}  // namespace tacho
