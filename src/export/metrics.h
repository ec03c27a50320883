// A job's figures as Prometheus' text format 0.0.4 and as OpenMetrics 1.0: at most 19 series, none with a pid, a path
// or a command. Unknown is no line, never 0. Pure; thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/decimal_sum.h"
#include "base/result.h"
#include "model/row.h"
#include "model/run.h"

namespace tacho {

// What every series of the run has, the user's labels too, the array's index and the task where `with_task`; and what
// tacho_job_info tells.
MetricLabels job_labels(const Run& run, bool with_task);
MetricLabels job_info_labels(const Run& run);

// What changes while the job runs, as metrics.csv has it: from there the same is read later. Sums are over all rows so
// far.
class JobMetrics {
 public:
  void begin(const Schema& schema);
  void add(const Row& row);

  std::optional<double> cpu_user_s, cpu_system_s, memory_bytes, memory_peak_bytes, read_bytes, write_bytes, processes,
      throttled_s, oom_kills, gpu_usage, gpu_memory_bytes, update_time_s;

 private:
  struct Source {
    std::optional<double> JobMetrics::*target;
    size_t cell;
    int decimals;
    double factor;
    bool is_sum;
    DecimalSum sum;
  };
  std::vector<Source> sources_;
};

enum class MetricsFormat { prometheus, openmetrics };
std::string metrics_text(const Run& run, const JobMetrics& job, MetricsFormat format);

}  // namespace tacho
