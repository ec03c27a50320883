// Time series for charts in constant memory: at most `capacity` points; when they are full, neighbours are merged in
// pairs, so that a run of days keeps its shape. A point has the time-weighted mean and the maximum of its rows. Columns
// that hold what an interval added become rates. Not thread-safe; no allocation after begin().
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "model/row.h"

namespace tacho {

class SeriesFold {
 public:
  static constexpr size_t kPoints = 2000;

  // Only those of `columns` that the schema has are kept; the names must live as long as this.
  void begin(const Schema& schema, std::span<const std::string_view> columns, size_t capacity = kPoints);
  void add(const Row& row);

  size_t points() const { return points_; }
  double end_s(size_t point) const { return end_s_[point]; }  // since the start of the first interval
  // kAbsent for a column that is not there or had no value in this point.
  double mean(std::string_view column, size_t point) const;
  double max(std::string_view column, size_t point) const;
  bool merged() const { return rows_per_point_ > 1; }
  bool has_value(std::string_view column) const;
  double highest(std::string_view column) const;

 private:
  struct Cell {
    float weighted, seconds, max;  // Σ value·Δt, ΣΔt of the rows with a value
  };
  struct Source {
    std::string_view column;
    size_t cell;
    bool per_interval;
  };
  Cell& at(size_t source, size_t point) { return cells_[point * sources_.size() + source]; }
  const Cell* find(std::string_view column, size_t point) const;
  void start_point();
  void merge_pairs();

  std::vector<Source> sources_;
  std::vector<Cell> cells_;
  std::vector<double> end_s_;
  size_t capacity_ = 0, points_ = 0;
  int64_t rows_per_point_ = 1, rows_in_last_ = 0;
  double elapsed_s_ = 0;
};

}  // namespace tacho
