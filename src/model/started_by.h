// Who started the job, as far as its surroundings tell: an orchestrator (a workflow engine, a CI system), an executor
// (a scheduler), what that calls the job, and the size that was asked for. Plain data; unknown is empty.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho {

// The job as its executor numbers it. Texts are ids and names, also where they consist of digits.
struct ScheduledJob {
  std::string scheduler, cluster, id, raw_id, array, node;
  std::optional<int64_t> index, restart, step, task, tasks, nodes;
  bool known() const { return !scheduler.empty() || restart.has_value(); }
};

struct RequestedSize {
  std::optional<double> cpus, time_s;
  std::optional<int64_t> memory_bytes, gpus;
  std::string source;  // "user", or the name of the executor or orchestrator
  bool known() const { return cpus || time_s || memory_bytes || gpus; }
};

// "cpus=4,memory=8GiB,gpus=1,time=2h", each once or not at all: what a user says was asked for.
Result<RequestedSize> parse_request(std::string_view text);

struct StartedBy {
  std::string orchestrator, executor;  // as found, whatever the user calls them
  std::vector<std::string> fields;     // of the metadata, that were taken from the surroundings
  ScheduledJob job;
  RequestedSize requested;
  bool detected() const { return !orchestrator.empty() || !executor.empty(); }
};

// "slurm:4711_3", "slurm:4711_3.r1" after a requeue: the tasks and nodes of one job share it. Empty without an id.
inline std::string group_name(const ScheduledJob& job) {
  if (job.scheduler.empty() || job.id.empty()) return {};
  return job.scheduler + ":" + job.id + (job.restart.value_or(0) > 0 ? ".r" + std::to_string(*job.restart) : "");
}

}  // namespace tacho
