#include "report/series.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/store/csv_reader.h"

namespace tacho {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
// A row that covers no time still has a value; this is its weight.
constexpr double kShortestS = 1e-6;

float higher(float a, float b) { return a >= b || std::isnan(b) ? a : b; }
float lower(float a, float b) { return a <= b || std::isnan(b) ? a : b; }

}  // namespace

void SeriesFold::begin(const Schema& schema, std::span<const std::string_view> columns, size_t capacity) {
  capacity_ = std::max<size_t>(2, capacity / 2 * 2);
  sources_.clear();
  names_.clear();
  for (const std::string_view column : columns)
    for (size_t i = 0; i < schema.size(); ++i)
      if (schema[i].name == column && find(column) == kMissing) {
        sources_.push_back({i, is_per_interval(column)});
        names_.emplace_back(column);
      }
  cells_.assign(capacity_ * sources_.size(), Cell{0, 0, kNone, kNone});
  end_s_.assign(capacity_, 0);
  points_ = 0;
  rows_per_point_ = 1;
  rows_in_last_ = 0;
  elapsed_s_ = 0;
}

void SeriesFold::add(const Row& row) {
  const double seconds = as_seconds(std::max<int64_t>(0, row.interval_ns));
  elapsed_s_ += seconds;
  if (points_ == 0 || rows_in_last_ == rows_per_point_) start_point();
  ++rows_in_last_;
  end_s_[points_ - 1] = elapsed_s_;
  const double weight = std::max(seconds, kShortestS);
  for (size_t i = 0; i < sources_.size(); ++i) {
    double value = sources_[i].cell < row.cells.size() ? row.cells[sources_[i].cell] : kAbsent;
    if (sources_[i].per_interval) value = seconds > 0 ? value / seconds : kAbsent;
    if (is_absent(value)) continue;
    Cell& cell = at(i, points_ - 1);
    cell.weighted += value * weight;
    cell.seconds += static_cast<float>(weight);
    cell.max = higher(static_cast<float>(value), cell.max);
    cell.min = lower(static_cast<float>(value), cell.min);
  }
}

void SeriesFold::start_point() {
  if (points_ == capacity_) merge_pairs();
  ++points_;
  rows_in_last_ = 0;
  for (size_t i = 0; i < sources_.size(); ++i) at(i, points_ - 1) = {0, 0, kNone, kNone};
}

void SeriesFold::merge_pairs() {
  const size_t merged = (points_ + 1) / 2;
  for (size_t point = 0; point < merged; ++point) {
    const size_t first = 2 * point, second = std::min(first + 1, points_ - 1);
    for (size_t i = 0; i < sources_.size() && second != first; ++i) {
      const Cell a = at(i, first), b = at(i, second);
      at(i, point) = {a.weighted + b.weighted, a.seconds + b.seconds, lower(a.min, b.min), higher(a.max, b.max)};
    }
    if (second == first)
      for (size_t i = 0; i < sources_.size(); ++i) at(i, point) = at(i, first);
    end_s_[point] = end_s_[second];
  }
  if (points_ % 2 == 0) rows_in_last_ += rows_per_point_;
  points_ = merged;
  rows_per_point_ *= 2;
}

size_t SeriesFold::find(std::string_view column) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  return found == names_.end() ? kMissing : static_cast<size_t>(found - names_.begin());
}

double SeriesFold::value(size_t column, size_t point, Part part) const {
  if (column == kMissing) return kAbsent;
  const Cell& cell = cells_[point * sources_.size() + column];
  if (!(cell.seconds > 0)) return kAbsent;
  if (part == Part::mean) {
    // Of one row it is that row's value, not what is left of it after a product and a quotient.
    if (cell.min == cell.max) return static_cast<double>(cell.max);
    return std::clamp(cell.weighted / static_cast<double>(cell.seconds), static_cast<double>(cell.min),
                      static_cast<double>(cell.max));
  }
  return static_cast<double>(part == Part::min ? cell.min : cell.max);
}

bool SeriesFold::has_value(std::string_view column) const { return !is_absent(highest(column)); }

double SeriesFold::highest(std::string_view column) const {
  double best = kAbsent;
  for (size_t point = 0, at = find(column); point < points_; ++point)
    if (const double one = value(at, point, Part::max); !is_absent(one) && !(best >= one)) best = one;
  return best;
}

}  // namespace tacho
