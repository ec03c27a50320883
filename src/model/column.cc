#include "model/column.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {

double derive(const Column& column, const Reading& before, const Reading& now) {
  const double seconds = as_seconds(now.stamp_ns - before.stamp_of(column.field));
  if (column.rule == Rule::custom) return column.derive(before, now, seconds);
  if (!now.has(column.field)) return kAbsent;
  if (column.rule == Rule::level) return static_cast<double>(now.get(column.field)) * column.scale;
  if (!before.has(column.field)) return kAbsent;
  const int64_t added = std::max<int64_t>(0, now.get(column.field) - before.get(column.field));
  const double delta = static_cast<double>(added) * column.scale;
  if (column.rule == Rule::delta) return delta;
  return seconds > 0 ? delta / seconds : kAbsent;
}

}  // namespace tacho
