// Minimum, maximum and latest value of a metric, folded from the rows of a Trial's observation log in one pass and
// constant memory. The text of a value is kept as it was reported. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "katib/model/row.h"

namespace tacho {

inline constexpr const char* kUnavailable = "unavailable";

struct FinalMetric {
  std::string name;
  std::string min = kUnavailable, max = kUnavailable, latest = kUnavailable;
  bool operator==(const FinalMetric&) const = default;
};

class FinalMetricFold {
 public:
  explicit FinalMetricFold(std::string name) { metric_.name = std::move(name); }
  // Rows of other names do not count. NaN changes neither minimum nor maximum, infinities do; a text that is no number
  // can only be the latest. An Error means a time stamp that cannot be read.
  Status add(const MetricRow& row);
  // An empty latest value is "unavailable": it would stall the Experiment.
  FinalMetric result() const;
  uint64_t rows() const { return rows_; }
  // How many rows share the greatest time: if more than one, the order of the reply has decided.
  uint64_t ties() const { return ties_; }
  const std::string& latest_time() const { return latest_time_text_; }
  void set_latest(std::string value) { metric_.latest = std::move(value); }

 private:
  FinalMetric metric_;
  double min_ = 0, max_ = 0;
  bool has_number_ = false;
  std::optional<int64_t> latest_time_us_;
  std::string latest_time_text_;
  uint64_t rows_ = 0, ties_ = 0;
};

// From rows of one metric with one time stamp, and those of its companion NAME@step with the same time: the value of
// the greatest step, the later one of equal steps. Nothing when they do not match one to one.
std::optional<std::string> latest_by_step(std::span<const MetricRow> values, std::span<const MetricRow> steps);

}  // namespace tacho
