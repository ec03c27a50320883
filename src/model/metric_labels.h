// Labels that a user adds to every series of a run's metrics (--metric-label). Plain data; thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tacho {

using MetricLabel = std::pair<std::string, std::string>;  // {run_id} in a value stands for the run's id
using MetricLabels = std::vector<MetricLabel>;

// "name=value": a name that is not ours, and a value of at most 128 bytes.
Result<MetricLabel> parse_metric_label(std::string_view text);

}  // namespace tacho
