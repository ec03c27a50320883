#include "probe/all_metrics.h"

#include <algorithm>

namespace tacho {

std::vector<Metric> all_metrics() {
  std::vector<Metric> metrics;
  metrics.push_back({&kTimestampColumn, nullptr});
  for (const ProbeInfo& probe : all_probes())
    for (const Column& column : probe.columns) metrics.push_back({&column, &probe});
  std::stable_sort(metrics.begin(), metrics.end(),
                   [](const Metric& a, const Metric& b) { return a.column->position < b.column->position; });
  return metrics;
}

}  // namespace tacho
