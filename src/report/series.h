// Time series for charts in constant memory: at most `capacity` points; when they are full, neighbours are merged in
// pairs, so that a run of days keeps its shape. A point has the time-weighted mean, the minimum and the maximum of its
// rows: no peak is lost. Columns that hold what an interval added become rates. Not thread-safe; no allocation after
// begin().
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/row.h"

namespace tacho {

class SeriesFold {
 public:
  static constexpr size_t kPoints = 2000;
  enum class Part { mean, min, max };

  // Only those of `columns` that the schema has are kept.
  void begin(const Schema& schema, std::span<const std::string_view> columns, size_t capacity = kPoints);
  void add(const Row& row);

  size_t points() const { return points_; }
  double end_s(size_t point) const { return end_s_[point]; }  // since the start of the first interval
  // Which of the columns that were kept it is; nothing else is asked by name.
  static constexpr size_t kMissing = static_cast<size_t>(-1);
  size_t find(std::string_view column) const;
  std::span<const std::string> columns() const { return names_; }
  // kAbsent for a column that is not there or had no value in this point.
  double value(size_t column, size_t point, Part part) const;
  double mean(std::string_view column, size_t point) const { return value(find(column), point, Part::mean); }
  double max(std::string_view column, size_t point) const { return value(find(column), point, Part::max); }
  bool merged() const { return rows_per_point_ > 1; }
  int64_t rows_per_point() const { return rows_per_point_; }
  bool has_value(std::string_view column) const;
  double highest(std::string_view column) const;
  // Half as many points.
  void merge_pairs();

 private:
  struct Cell {
    double weighted;  // Σ value·Δt of the rows with a value
    float seconds, min, max;
  };
  struct Source {
    size_t cell;
    bool per_interval;
  };
  Cell& at(size_t source, size_t point) { return cells_[point * sources_.size() + source]; }
  void start_point();

  std::vector<Source> sources_;
  std::vector<std::string> names_;
  std::vector<Cell> cells_;
  std::vector<double> end_s_;
  size_t capacity_ = 0, points_ = 0;
  int64_t rows_per_point_ = 1, rows_in_last_ = 0;
  double elapsed_s_ = 0;
};

}  // namespace tacho
