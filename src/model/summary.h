// Summary folds rows into statistics in constant memory while the run goes on. Means are weighted by time:
// Σ(value·Δt)/ΣΔt over the rows that have the value. Not thread-safe; no allocation after begin().
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "model/row.h"

namespace tacho {

struct Statistics {
  double mean = kAbsent, max = kAbsent, min = kAbsent, sum = kAbsent, last = kAbsent;
  int64_t rows = 0;  // rows that had a value
};

class Summary {
 public:
  void begin(const Schema& schema);
  void add(const Row& row);
  // A high-water mark read elsewhere (ru_maxrss, VmHWM) that no row shows: raises the column's max.
  void raise_max(std::string_view column, double value);

  const Schema& schema() const { return schema_; }
  // Of the timestamp (cell 0) only sum, which is the duration in seconds, and rows are filled.
  Statistics column(size_t index) const;
  Statistics column(std::string_view name) const;  // all absent when there is no such column
  // By the place of a column: nothing where there is none (0), or no row had a value.
  std::optional<double> sum(size_t place) const;
  int64_t rows() const { return rows_; }
  double duration_s() const { return duration_s_; }

 private:
  struct Fold {
    double weighted = 0, seconds = 0, max = kAbsent, min = kAbsent, sum = 0, last = kAbsent;
    int64_t rows = 0;
  };
  Schema schema_;
  std::vector<Fold> folds_;
  int64_t rows_ = 0;
  double duration_s_ = 0;
};

}  // namespace tacho
