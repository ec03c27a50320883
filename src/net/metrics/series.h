// The series of a run and their points, as remote write and OTLP send them. Plain data; thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacho {

using SeriesLabels = std::vector<std::pair<std::string, std::string>>;

// Where the value at a row comes from.
enum class SeriesSource {
  constant,     // the same at all times
  counter,      // the sum of a column over all rows so far
  level,        // a column as it is
  peak,         // the highest of a column so far; at the end what the run itself measured
  running,      // 1, at the end 0
  processes,    // a column and one more; at the end 0
  update_time,  // the row's own time
  uptime,       // since the run's start
  exit_code,    // at the end alone
  end_time,     // at the end alone
};
enum class OtlpShape { gauge, sum, monotonic };

struct MetricSeries {
  std::string name;
  SeriesLabels labels = {};  // of its own: mode="user"
  SeriesSource source = SeriesSource::level;
  std::string_view column = {};
  double factor = 1;    // from the column's unit
  double constant = 0;  // of SeriesSource::constant
  std::string_view unit = {};
  OtlpShape shape = OtlpShape::gauge;
  bool is_integer = false;
};

struct MetricPoint {
  uint32_t series = 0;
  int64_t time_ms = 0;
  double value = 0;
};

}  // namespace tacho
