#include "model/summary.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {
namespace {

// Cell 0 is the clock, not a measurement: it has a duration instead of a mean.
constexpr size_t kTimestamp = 0;

bool is_timestamp(const Schema& schema, size_t index) {
  return index == kTimestamp && !schema.empty() && schema[kTimestamp].name == "timestamp";
}

}  // namespace

void Summary::begin(const Schema& schema) {
  schema_ = schema;
  folds_.assign(schema_.size(), Fold{});
  rows_ = 0;
  duration_s_ = 0;
}

void Summary::add(const Row& row) {
  const double seconds = as_seconds(std::max<int64_t>(0, row.interval_ns));
  ++rows_;
  duration_s_ += seconds;
  const size_t count = std::min(row.cells.size(), folds_.size());
  for (size_t i = is_timestamp(schema_, 0) ? 1 : 0; i < count; ++i) {
    const double value = row.cells[i];
    if (is_absent(value)) continue;
    Fold& fold = folds_[i];
    fold.weighted += value * seconds;
    fold.seconds += seconds;
    fold.sum += value;
    fold.last = value;
    if (!(fold.max >= value)) fold.max = value;  // also true when there is no maximum yet (NaN)
    if (!(fold.min <= value)) fold.min = value;
    ++fold.rows;
  }
}

void Summary::raise_max(std::string_view column, double value) {
  if (is_absent(value)) return;
  for (size_t i = 0; i < schema_.size(); ++i) {
    Fold& fold = folds_[i];
    if (schema_[i].name == column && !is_timestamp(schema_, i) && !(fold.max >= value)) fold.max = value;
  }
}

Statistics Summary::column(size_t index) const {
  Statistics result;
  if (index >= folds_.size()) return result;
  if (is_timestamp(schema_, index)) {
    result.rows = rows_;
    if (rows_ > 0) result.sum = duration_s_;
    return result;
  }
  const Fold& fold = folds_[index];
  result.rows = fold.rows;
  result.max = fold.max;
  if (fold.rows == 0) return result;
  // Rows that cover no time at all still have values: then every row weighs the same.
  result.mean = fold.seconds > 0 ? fold.weighted / fold.seconds : fold.sum / static_cast<double>(fold.rows);
  result.min = fold.min;
  result.sum = fold.sum;
  result.last = fold.last;
  return result;
}

std::optional<double> Summary::sum(size_t place) const {
  if (place == 0 || place >= folds_.size() || folds_[place].rows == 0) return std::nullopt;
  return folds_[place].sum;
}

Statistics Summary::column(std::string_view name) const {
  for (size_t i = 0; i < schema_.size(); ++i)
    if (schema_[i].name == name) return column(i);
  return {};
}

}  // namespace tacho
