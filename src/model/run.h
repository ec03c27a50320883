// A Run: who, what, where, how it ended and by which methods it was measured. run.json is written from it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/metric_labels.h"
#include "model/started_by.h"

namespace tacho {

// The metadata fields a user may give, in the order of the help text.
struct Metadata {
  std::string job_name, project_name, stage_name, task_name, team, env, language, orchestrator, executor,
      external_run_id, container_image;
  std::vector<std::string> tags;  // "key=value", order kept
};

// Static facts of the machine (host_*), in the wire names of cloud-metadata.md. Unknown is absent.
struct Host {
  std::optional<std::string> host_id, host_hostname, host_ip, host_server_allocation, host_cpu_model, host_gpu_model;
  std::optional<int64_t> host_vcpus, host_memory_mib, host_gpu_count, host_gpu_memory_mib;
  std::optional<double> host_storage_gb;
  std::vector<std::optional<int64_t>> gpu_memory_mib;  // of each GPU, in the driver's order; run.json alone has it
};

// The slice of the machine that the job may use (cgroup limits, affinity).
struct Limits {
  std::optional<double> cpu_quota_cores;
  std::optional<int64_t> cpuset_cpus;
  std::optional<int64_t> memory_limit_bytes;
};

enum class RunState { running, finished, failed, interrupted };

struct Outcome {
  RunState state = RunState::running;
  std::optional<int> exit_code;    // as a shell would see it: 128+n for a signal, 124 after --timeout
  std::optional<int> signal;       // the signal that ended the job
  std::optional<bool> oom_killed;  // empty: cannot be known
  bool timed_out = false;
  int64_t started_realtime_ns = 0;
  int64_t finished_realtime_ns = 0;  // 0 while running
  int64_t duration_ns = 0;           // monotonic
};

// How the job's numbers were obtained; each a word that docs/metrics.md explains.
struct Method {
  std::string cpu;     // "cgroup", "subreaper", "attach"
  std::string memory;  // "pss", "pss_scaled", "rss"
  std::string io;      // "proc_io", "proc_io+rusage"
  std::string gpu;     // "nvml", "amdgpu", "none"
  std::string waits;   // "syscall", "wchan", or empty: threads were not looked at
};

// Exact totals and high-water marks that samples alone would miss.
struct Totals {
  std::optional<double> cpu_user_s, cpu_system_s;
  std::optional<int64_t> memory_peak_bytes;         // highest of samples, VmHWM and ru_maxrss
  std::optional<int64_t> largest_process_bytes;     // highest VmHWM / ru_maxrss of a single process
  std::optional<int64_t> cgroup_memory_peak_bytes;  // memory.peak, page cache included
  std::optional<int64_t> io_read_bytes, io_write_bytes;
  std::optional<int64_t> oom_kills, processes_seen;
  std::optional<int64_t> virtual_peak_bytes;                                // highest sum of VmSize
  std::optional<int64_t> uss_peak_bytes;                                    // highest sum of private pages
  std::optional<int64_t> read_chars, write_chars, read_calls, write_calls;  // of /proc/PID/io
  std::optional<int64_t> switches_voluntary, switches_involuntary;
};

// What the run's machine used, measured or empty; see run.json.
struct Energy {
  std::optional<double> cpu_j, gpu_j, job_j;
  std::string cpu_method, gpu_method;      // "rapl"; "nvml", "nvml_power"
  std::string job_share;                   // how job_j was told apart: "cpu time", "exact"
  std::optional<double> carbon_intensity;  // g CO2 a kWh, as the user gave it
  std::optional<double> co2_g;
};

// What the job called itself for a while (`tacho mark`). Not a number: unknown.
struct Phase {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::string name;
  double started_s = 0, ended_s = 0;  // UNIX time, to the millisecond
  double cpu_s = kUnknown, cpu_mean = kUnknown, memory_peak_mib = kUnknown, disk_read_bytes = kUnknown,
         disk_write_bytes = kUnknown, gpu_mean = kUnknown;
};

// What a run records: a command that it started, a process that was there already, the whole machine.
inline constexpr char kModeRun[] = "run", kModeAttach[] = "attach", kModeWatch[] = "watch";

struct Run {
  int revision = 0;  // counts changes of what is not measured: host, pid …
  std::string id;
  std::string mode;  // kModeRun …; empty when the run is not known, but only its rows
  std::string version = TACHO_VERSION;
  pid_t tracker_pid = 0;
  uint64_t tracker_start_ticks = 0;  // with its number, who recorded: /proc/PID/stat, field 22; 0: not known
  bool nested_pass = false;          // recordings inside of it become their command instead
  pid_t pid = 0;                     // root of the tree; 0: none
  std::vector<std::string> command;
  std::string process_name;  // of what was attached to: the kernel's name of the process, or the cgroup's
  std::string working_directory;
  int64_t interval_ns = 0;
  Metadata metadata;
  MetricLabels metric_labels;
  StartedBy started_by;
  Host host;
  Limits limits;
  Outcome outcome;
  Method method;
  Totals totals;
  Energy energy;
  std::vector<std::string> notes;
  std::vector<Phase> phases;        // in order; known at the end
  int64_t marks_dropped = 0;        // lines of marks.csv that were not used
  std::vector<std::string> hidden;  // fields that are written nowhere
};

bool is_among(const std::vector<std::string>& fields, std::string_view field);
// Mostly nothing is, and each tick asks for a hundred fields.
inline bool is_hidden(const Run& run, std::string_view field) {
  return !run.hidden.empty() && is_among(run.hidden, field);
}

}  // namespace tacho
