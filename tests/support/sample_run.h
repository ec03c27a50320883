// A small schema, rows and a run with everything filled in, for tests of what happens to rows.
#pragma once
#include "model/row.h"
#include "model/run.h"

namespace tacho {

inline Schema sample_schema() {
  return {{1, "timestamp", "s", 3, Rule::level, 0, 1, "", nullptr},
          {2, "system_processes", "count", 0, Rule::level, 0, 1, "", nullptr},
          {5, "system_cpu_usage", "cores", 4, Rule::custom, 0, 1, "", nullptr},
          {17, "system_net_recv_bytes", "bytes", 0, Rule::delta, 0, 1, "", nullptr},
          {26, "process_cpu_usage", "cores", 4, Rule::custom, 0, 1, "", nullptr},
          {27, "process_memory_mib", "MiB", 3, Rule::level, 0, 1, "", nullptr}};
}

inline constexpr int64_t kSampleStartNs = 1'794'735'000'250'000'000;  // 2026-11-15T09:30:00.250Z

// One row a second, the process columns as given.
inline Row sample_row(int64_t index, double process_cpu = 1.5, double process_memory_mib = 128) {
  Row row;
  row.index = index;
  row.interval_ns = 1'000'000'000;
  row.realtime_ns = kSampleStartNs + (index + 1) * row.interval_ns;
  row.cells = {static_cast<double>(row.realtime_ns) / 1e9, 321, 2.25, 1000, process_cpu, process_memory_mib};
  return row;
}

inline Run sample_run() {
  Run run;
  run.id = "20261115-a1b2";
  run.version = "0.1.0";
  run.mode = "run";
  run.tracker_pid = 4000;
  run.pid = 4001;
  run.command = {"python3", "train.py", "--epochs", "3"};
  run.working_directory = "/data/job";
  run.interval_ns = 1'000'000'000;
  run.metadata.job_name = "train";
  run.metadata.team = "vision";
  run.metadata.tags = {"b=2", "a=1"};
  run.host.host_hostname = "node7";
  run.host.host_ip = "10.0.0.7";
  run.host.host_vcpus = 8;
  run.host.host_memory_mib = 32768;
  run.limits.cpu_quota_cores = 2.5;
  run.outcome.started_realtime_ns = kSampleStartNs;
  run.method = {"cgroup", "pss", "proc_io", "none", ""};
  run.totals.cpu_user_s = 3.25;
  run.totals.memory_peak_bytes = 200 << 20;
  run.notes = {"memory of 1 process was not readable"};
  return run;
}

}  // namespace tacho
