// What a person wants to know of a run, computed once for the exit summary and the HTML report: from exact totals where
// there are some, else from statistics. Unknown is kAbsent. Pure.
#pragma once
#include <functional>
#include <string_view>

#include "model/run.h"
#include "model/summary.h"

namespace tacho {

using StatisticsOf = std::function<Statistics(std::string_view column)>;

struct RunFacts {
  double duration_s = kAbsent;
  double cpu_mean = kAbsent, cpu_max = kAbsent;  // cores; of the job, or of the machine when that is watched
  double cores = kAbsent;                        // that it may use: the lowest of quota, cpuset and machine
  bool cores_limited = false;                    // by a cgroup or an affinity, not by the machine
  double cpu_user_s = kAbsent, cpu_system_s = kAbsent;
  double memory_peak_bytes = kAbsent, memory_mean_bytes = kAbsent;
  double memory_bytes = kAbsent;  // that it may use
  bool memory_limited = false;
  double disk_read_bytes = kAbsent, disk_write_bytes = kAbsent;
  double net_recv_bytes = kAbsent, net_sent_bytes = kAbsent;  // of the machine: nothing else is known
  double gpu_mean = kAbsent, gpu_max = kAbsent;               // GPUs
  double gpus = kAbsent;
  double vram_peak_bytes = kAbsent, vram_bytes = kAbsent;
  std::string_view allocation;  // of the machine, once the run is over: "dedicated", "shared", or empty
};

RunFacts facts_of(const Run& run, double duration_s, const StatisticsOf& statistics);

// Whether facts_of() may ask for the statistics of this column.
bool is_of_facts(std::string_view column);

struct StoredRun;
RunFacts facts_of(const StoredRun& stored);
// Of a column; all absent when there is none.
Statistics statistics_of(const StoredRun& stored, std::string_view column);

}  // namespace tacho
