// What limited one row: the rules of docs/bottlenecks.md as a pure function of a row's columns. Thread-safe but for
// RowJudge, which remembers where the columns are.
//
// A condition on a column that is empty does not hold. Comparisons forgive a billionth, so that 2.7 cores are 0.9 of 3.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/row.h"
#include "model/run.h"

namespace tacho {

// In the order of the rules: the first that holds is the row's.
enum class Limit : uint8_t {
  memory,
  cpu_quota,
  gpu_compute,
  gpu_memory_bandwidth,
  pcie,
  nvlink,
  disk,
  network,
  lock,
  cpu,
  single_thread,
  waiting,
  none,
};
inline constexpr size_t kLimits = static_cast<size_t>(Limit::none) + 1;
std::string_view limit_word(Limit limit);  // "cpu_quota"

// What kind of it; from cpu on in the order of the columns process_waits_*.
enum class Aspect : uint8_t {
  unknown,
  throughput,
  latency,
  bandwidth,
  peer,
  saturated,
  contended,
  on_cpu,
  on_disk,
  on_network,
  on_lock,
  on_child,
  on_pipe,
  on_sleep,
  on_gpu,
  on_idle,
  on_other,
};
inline constexpr size_t kAspects = static_cast<size_t>(Aspect::on_other) + 1;
std::string_view aspect_word(Aspect aspect);  // "latency", "sleep"; empty: unknown

struct RowClass {
  Limit limit = Limit::none;
  Aspect aspect = Aspect::unknown;
  bool operator==(const RowClass&) const = default;
};

// The columns that the rules look at.
enum class Source : uint8_t {
  process_cpu,
  system_cpu,
  threads,
  throttled_s,
  own_cpu,
  own_memory,
  own_io,
  machine_cpu,
  machine_memory,
  machine_io,
  waits_cpu,
  waits_disk,
  waits_network,
  waits_lock,
  waits_child,
  waits_pipe,
  waits_sleep,
  waits_gpu,
  waits_idle,
  waits_other,
  oom_kills,
  swap_in,
  swap_out,
  process_faults,
  system_faults,
  gpus_used,
  gpus_busy,
  sm_active,
  tensor_active,
  dram_active,
  job_sm_active,
  job_tensor_active,
  job_dram_active,
  job_pcie,
  job_nvlink,
  pcie_rx,
  pcie_tx,
  pcie_max,
  nvlink_rx,
  nvlink_tx,
  nvlink_max,
  disk_read,
  disk_written,
  disk_requests,
  net_busiest,
  memory_mib,
};
inline constexpr size_t kSources = static_cast<size_t>(Source::memory_mib) + 1;
std::string_view column_of(Source source);

// What the rows themselves do not tell.
struct JudgedRun {
  double cores = kAbsent;       // that the job may use: the least of machine, affinity, cpuset and quota
  bool has_quota = false;       // of CPU time
  bool machine = false;         // nothing but the machine was watched
  bool maybe_machine = false;   // a metrics file: it is the machine's where its rows have no job
  bool own_cgroup = false;      // the columns cgroup_* are of a cgroup that holds the job alone
  bool kills_are_jobs = false;  // OOM kills of the job's cgroup hit the job

  static JudgedRun of(const Run& run);
};

// The values of one row that the rules look at; kAbsent where a column is empty or not there.
struct JudgedRow {
  std::array<double, kSources> value;
  double seconds = 0;
  bool machine = false;
  double operator[](Source source) const { return value[static_cast<size_t>(source)]; }
};

bool has_figures(const JudgedRow& row);  // of any column that the rules look at
// Nothing: it had no threads any more, or no figures.
std::optional<RowClass> classify(const JudgedRow& row, const JudgedRun& run);
// The machine's pressure stood in for that of the job's own cgroup.
bool lacks_own_pressure(const JudgedRow& row, const JudgedRun& run);

// Finds the columns once for all rows of a schema.
class RowJudge {
 public:
  explicit RowJudge(const Schema& schema = {});
  JudgedRow look(const Row& row, const JudgedRun& run) const;
  std::optional<RowClass> classify(const Row& row, const JudgedRun& run) const {
    return tacho::classify(look(row, run), run);
  }

 private:
  std::array<size_t, kSources> cell_{};  // 0: no such column
};

}  // namespace tacho
