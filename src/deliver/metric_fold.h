// From rows of CSV to points of series. A counter's value at a row is the exact sum of all rows up to it, so that the
// same rows give the same points, whoever folds them. Pure; not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/decimal_sum.h"
#include "deliver/metric_meta.h"

namespace tacho {

class MetricFold {
 public:
  // `header` names the columns. `from_start`: counters begin with a 0 at the run's start, and constants stand there.
  MetricFold(std::vector<MetricSeries> series, std::string_view header, int64_t started_ms, bool from_start);

  const std::vector<MetricSeries>& series() const { return series_; }

  // The points of one row are appended. Constants come at the last row of a chunk; `end` with the last row of the run,
  // when it is known how that ended.
  void row(std::string_view line, bool last_of_chunk, const MetricEnd* end, std::vector<MetricPoint>& out);
  // A run without any row: what is known of its start.
  void nothing(std::vector<MetricPoint>& out);
  // Ends each series 1 ms after its newest point.
  void stale(std::vector<MetricPoint>& out);

 private:
  struct Track {
    std::optional<size_t> cell;
    DecimalSum sum;               // of a counter
    std::optional<double> value;  // of a peak, so far
    std::optional<int64_t> last_ms;
  };
  void begin(int64_t first_ms, const std::vector<double>& cells, std::vector<MetricPoint>& out);
  std::optional<double> value_at(size_t index, int64_t time_ms, const std::vector<double>& cells, const MetricEnd* end);
  void put(size_t index, int64_t time_ms, double value, std::vector<MetricPoint>& out);

  std::vector<MetricSeries> series_;
  std::vector<Track> tracks_;
  int64_t started_ms_;
  bool from_start_, began_ = false;
};

}  // namespace tacho
