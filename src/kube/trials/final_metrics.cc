#include "kube/trials/final_metrics.h"

#include <cmath>

#include "base/text.h"
#include "kube/trials/go_number.h"

namespace tacho {

Status FinalMetricFold::add(const MetricRow& row) {
  if (row.name != metric_.name) return ok();
  const std::optional<int64_t> time_us = row.time_stamp.us();
  if (!time_us) {
    return Error{Code::invalid, "the observation log has a row whose time is no RFC 3339",
                 row.name + " at \"" + row.time_stamp.str() + "\"", "delete the Trial's rows and report them again"};
  }
  ++rows_;
  if (const std::optional<double> number = parse_go_float(row.value); number && !std::isnan(*number)) {
    if (!has_number_ || *number < min_) {
      min_ = *number;
      metric_.min = row.value;
    }
    if (!has_number_ || *number > max_) {
      max_ = *number;
      metric_.max = row.value;
    }
    has_number_ = true;
  }
  if (latest_time_us_ && *time_us < *latest_time_us_) return ok();
  ties_ = latest_time_us_ && *time_us == *latest_time_us_ ? ties_ + 1 : 1;
  latest_time_us_ = time_us;
  latest_time_text_ = row.time_stamp.str();
  metric_.latest = row.value;
  return ok();
}

FinalMetric FinalMetricFold::result() const {
  FinalMetric metric = metric_;
  if (metric.latest.empty()) metric.latest = kUnavailable;
  return metric;
}

std::optional<std::string> latest_by_step(std::span<const MetricRow> values, std::span<const MetricRow> steps) {
  if (values.empty() || values.size() != steps.size()) return std::nullopt;
  const MetricRow* best = nullptr;
  int64_t best_step = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<int64_t> step = parse_int<int64_t>(steps[i].value);
    if (!step) return std::nullopt;
    if (best == nullptr || *step >= best_step) {
      best = &values[i];
      best_step = *step;
    }
  }
  return best->value;
}

}  // namespace tacho
