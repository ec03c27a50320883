#include "report/series.h"

#include <algorithm>
#include <cmath>

#include "report/csv_reader.h"

namespace tacho {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
// A row that covers no time still has a value; this is its weight.
constexpr double kShortestS = 1e-6;

float higher(float a, float b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }

}  // namespace

void SeriesFold::begin(const Schema& schema, std::span<const std::string_view> columns, size_t capacity) {
  capacity_ = std::max<size_t>(2, capacity / 2 * 2);
  sources_.clear();
  for (const std::string_view column : columns)
    for (size_t i = 0; i < schema.size(); ++i)
      if (schema[i].name == column) sources_.push_back({column, i, is_per_interval(column)});
  cells_.assign(capacity_ * sources_.size(), Cell{0, 0, kNone});
  end_s_.assign(capacity_, 0);
  points_ = 0;
  rows_per_point_ = 1;
  rows_in_last_ = 0;
  elapsed_s_ = 0;
}

void SeriesFold::add(const Row& row) {
  const double seconds = static_cast<double>(std::max<int64_t>(0, row.interval_ns)) / 1e9;
  elapsed_s_ += seconds;
  if (points_ == 0 || rows_in_last_ == rows_per_point_) start_point();
  ++rows_in_last_;
  end_s_[points_ - 1] = elapsed_s_;
  for (size_t i = 0; i < sources_.size(); ++i) {
    double value = sources_[i].cell < row.cells.size() ? row.cells[sources_[i].cell] : kAbsent;
    if (sources_[i].per_interval) value = seconds > 0 ? value / seconds : kAbsent;
    if (is_absent(value)) continue;
    Cell& cell = at(i, points_ - 1);
    const double weight = std::max(seconds, kShortestS);
    cell.weighted += static_cast<float>(value * weight);
    cell.seconds += static_cast<float>(weight);
    cell.max = higher(cell.max, static_cast<float>(value));
  }
}

void SeriesFold::start_point() {
  if (points_ == capacity_) merge_pairs();
  ++points_;
  rows_in_last_ = 0;
  for (size_t i = 0; i < sources_.size(); ++i) at(i, points_ - 1) = {0, 0, kNone};
}

void SeriesFold::merge_pairs() {
  for (size_t point = 0; point < capacity_ / 2; ++point) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Cell a = at(i, 2 * point), b = at(i, 2 * point + 1);
      at(i, point) = {a.weighted + b.weighted, a.seconds + b.seconds, higher(a.max, b.max)};
    }
    end_s_[point] = end_s_[2 * point + 1];
  }
  points_ = capacity_ / 2;
  rows_per_point_ *= 2;
}

const SeriesFold::Cell* SeriesFold::find(std::string_view column, size_t point) const {
  for (size_t i = 0; i < sources_.size(); ++i)
    if (sources_[i].column == column) return &cells_[point * sources_.size() + i];
  return nullptr;
}

double SeriesFold::mean(std::string_view column, size_t point) const {
  const Cell* cell = find(column, point);
  if (cell == nullptr || !(cell->seconds > 0)) return kAbsent;
  return static_cast<double>(cell->weighted) / static_cast<double>(cell->seconds);
}

double SeriesFold::max(std::string_view column, size_t point) const {
  const Cell* cell = find(column, point);
  return cell != nullptr ? static_cast<double>(cell->max) : kAbsent;
}

bool SeriesFold::has_value(std::string_view column) const { return !is_absent(highest(column)); }

double SeriesFold::highest(std::string_view column) const {
  double best = kAbsent;
  for (size_t point = 0; point < points_; ++point)
    if (const double value = max(column, point); !is_absent(value) && !(best >= value)) best = value;
  return best;
}

}  // namespace tacho
