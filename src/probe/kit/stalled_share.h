// The share of an interval that a sum of stalled microseconds (PSI) makes up, as a rule of a column. Pure.
#pragma once
#include <algorithm>

#include "model/column.h"

namespace tacho {

// The kernel's sum and our clock are not read at the same instant: never above 1. A sum that went back is another
// cgroup's, or began anew: not known, which is not the same as no pressure.
template <size_t field>
double stalled_share(const Reading& before, const Reading& now, double seconds) {
  if (!before.has(field) || !now.has(field) || seconds <= 0 || now.get(field) < before.get(field)) return kAbsent;
  const double stalled_s = static_cast<double>(now.get(field) - before.get(field)) * 1e-6;
  return std::min(stalled_s / seconds, 1.0);
}

}  // namespace tacho
