#include "report/verdict/row_class.h"

#include <algorithm>
#include <initializer_list>

#include "base/units.h"

namespace tacho {
namespace {

using enum Source;

constexpr double kForgiven = 1e-9;
bool at_least(double value, double limit) { return value >= limit - kForgiven; }
bool at_most(double value, double limit) { return value <= limit + kForgiven; }
bool below(double value, double limit) { return value < limit - kForgiven; }

constexpr std::array<std::string_view, kLimits> kLimitWords{
    "memory",  "cpu_quota", "gpu_compute", "gpu_memory_bandwidth", "pcie",    "nvlink", "disk",
    "network", "lock",      "cpu",         "single_thread",        "waiting", "none"};

constexpr std::array<std::string_view, kAspects> kAspectWords{
    "",        "throughput", "latency", "bandwidth", "peer",  "saturated", "contended", "cpu",  "disk",
    "network", "lock",       "child",   "pipe",      "sleep", "gpu",       "idle",      "other"};

constexpr std::array<std::string_view, kSources> kColumns{
    "process_cpu_usage",
    "system_cpu_usage",
    "process_threads",
    "cgroup_throttled_time",
    "cgroup_pressure_cpu_some",
    "cgroup_pressure_memory_full",
    "cgroup_pressure_io_some",
    "system_pressure_cpu_some",
    "system_pressure_memory_full",
    "system_pressure_io_some",
    "process_waits_cpu",
    "process_waits_disk",
    "process_waits_network",
    "process_waits_lock",
    "process_waits_child",
    "process_waits_pipe",
    "process_waits_sleep",
    "process_waits_gpu",
    "process_waits_idle",
    "process_waits_other",
    "cgroup_oom_kills",
    "system_swap_in_bytes",
    "system_swap_out_bytes",
    "process_major_page_faults",
    "system_major_page_faults",
    "process_gpu_utilized",
    "system_gpu_utilized",
    "system_gpu_sm_active",
    "system_gpu_tensor_active",
    "system_gpu_dram_active",
    "process_gpu_sm_active",
    "process_gpu_tensor_active",
    "process_gpu_dram_active",
    "process_gpu_pcie_busiest",
    "process_gpu_nvlink_busiest",
    "system_gpu_pcie_rx_bytes",
    "system_gpu_pcie_tx_bytes",
    "system_gpu_pcie_max_bytes_per_s",
    "system_gpu_nvlink_rx_bytes",
    "system_gpu_nvlink_tx_bytes",
    "system_gpu_nvlink_max_bytes_per_s",
    "system_disk_read_bytes",
    "system_disk_write_bytes",
    "system_disk_requests",
    "system_net_busiest",
    "process_memory_mib",
};

// What the rules call by a letter, once for a row.
struct Terms {
  const JudgedRow& row;
  double cpu, cores;                        // C, A
  double throttled;                         // T
  double waits_for_cpu, io, full;           // P, IO, M
  double waits;                             // W
  bool cpu_counts, io_counts, full_counts;  // false: a stranger's figure, which no thread of the job confirms

  double operator[](Source source) const { return row[source]; }
  double rate(Source source) const { return row.seconds > 0 ? row[source] / row.seconds : kAbsent; }
};

// An own figure, else the machine's; that counts only where a thread of the job is in that state.
double pressure(const JudgedRow& row, const JudgedRun& run, Source own, Source machine, Source confirmed_by,
                bool& counts) {
  if (row.machine) return row[machine];
  if (run.own_cgroup && !is_absent(row[own])) return row[own];
  counts = at_least(row[confirmed_by], 1);
  return row[machine];
}

Terms terms_of(const JudgedRow& row, const JudgedRun& run) {
  Terms terms{row, row[row.machine ? system_cpu : process_cpu], run.cores, kAbsent, 0, 0, 0, 0, true, true, true};
  terms.throttled = row.machine ? kAbsent : terms.rate(throttled_s);
  terms.waits_for_cpu = pressure(row, run, own_cpu, machine_cpu, waits_cpu, terms.cpu_counts);
  terms.io = pressure(row, run, own_io, machine_io, waits_disk, terms.io_counts);
  terms.full = pressure(row, run, own_memory, machine_memory, waits_disk, terms.full_counts);
  terms.waits = row[waits_disk] + row[waits_network] + row[waits_lock] + row[waits_gpu] + row[waits_other];
  return terms;
}

bool has_gpu(const Terms& terms) { return terms.row.machine || at_least(terms[gpus_used], 1); }

// Of the job's busiest GPU where that is known, else the mean over all.
double of_gpu(const Terms& terms, Source job, Source all) {
  return terms.row.machine || is_absent(terms[job]) ? terms[all] : terms[job];
}

bool is_memory(const Terms& terms, const JudgedRun& run) {
  if (at_least(terms.full, 0.1) && terms.full_counts) return true;
  if (!terms.row.machine && run.kills_are_jobs && at_least(terms[oom_kills], 1)) return true;
  return at_least(terms.rate(swap_in) + terms.rate(swap_out), 1e6) &&
         at_least(terms.rate(terms.row.machine ? system_faults : process_faults), 10);
}

bool is_throttled(const Terms& terms) {
  return at_least(terms.throttled, 0.05) && at_least(terms.throttled, 0.1 * (terms.throttled + terms.cpu));
}

// Of the job's GPU with the busiest link where that is known, else of all GPUs together.
bool is_link_full(const Terms& terms, Source job, Source in, Source out, Source most) {
  if (!has_gpu(terms)) return false;
  if (!terms.row.machine && !is_absent(terms[job])) return at_least(terms[job], 0.6);
  if (!(terms[most] > 0)) return false;
  return at_least(terms.rate(in), 0.6 * terms[most]) || at_least(terms.rate(out), 0.6 * terms[most]);
}

// Most of what waits at all waits for this, and hardly anything runs.
bool is_waited_for(const Terms& terms, Source state) {
  return at_least(terms[state], 1) && at_least(terms[state], 0.5 * terms.waits) && below(terms.cpu, 0.5) &&
         below(terms.waits_for_cpu, 0.3);
}

bool is_disk(const Terms& terms) {
  if (terms.io_counts && at_least(terms.io, 0.2) && at_least(terms.io, terms.waits_for_cpu) &&
      below(terms.cpu, 0.9 * terms.cores))
    return true;
  return is_waited_for(terms, waits_disk);
}

Aspect disk_aspect(const Terms& terms) {
  const double bytes = terms[disk_read] + terms[disk_written];
  return terms[disk_requests] > 0 && at_least(bytes / terms[disk_requests], 64 * 1024) ? Aspect::throughput
                                                                                       : Aspect::latency;
}

bool is_lock(const Terms& terms) {
  return at_least(terms[waits_lock], 2) && at_least(terms[waits_lock], 0.5 * (terms.waits + terms[waits_cpu])) &&
         below(terms.cpu, 0.9 * terms.cores);
}

bool is_saturated(const Terms& terms) { return at_least(terms.cpu, 0.9 * terms.cores); }
bool is_contended(const Terms& terms) { return terms.cpu_counts && at_least(terms.waits_for_cpu, 0.3); }

bool is_single_thread(const Terms& terms) {
  return terms.cores > 1 + kForgiven && at_most(terms.cpu, 1.15) && terms.cpu_counts &&
         at_least(terms.cpu + terms.waits_for_cpu, 0.85);
}

// The state that most threads are in; waiting for a child or for work to do says something only where it is all.
Aspect waiting_aspect(const JudgedRow& row) {
  const auto most = [&](std::initializer_list<Source> states) {
    Aspect found = Aspect::unknown;
    double threads = 0;
    for (const Source state : states) {
      if (!(row[state] > threads)) continue;
      threads = row[state];
      found = static_cast<Aspect>(static_cast<size_t>(Aspect::on_cpu) + static_cast<size_t>(state) -
                                  static_cast<size_t>(waits_cpu));
    }
    return found;
  };
  const Aspect aspect =
      most({waits_cpu, waits_disk, waits_network, waits_lock, waits_pipe, waits_sleep, waits_gpu, waits_other});
  return aspect != Aspect::unknown ? aspect : most({waits_child, waits_idle});
}

}  // namespace

std::string_view limit_word(Limit limit) { return kLimitWords[static_cast<size_t>(limit)]; }
std::string_view aspect_word(Aspect aspect) { return kAspectWords[static_cast<size_t>(aspect)]; }
std::string_view column_of(Source source) { return kColumns[static_cast<size_t>(source)]; }

JudgedRun JudgedRun::of(const Run& run) {
  JudgedRun judged;
  const auto lower = [&](double limit) {
    if (limit > 0 && !(judged.cores <= limit)) judged.cores = limit;
  };
  if (run.host.host_vcpus) lower(static_cast<double>(*run.host.host_vcpus));
  judged.machine = run.mode == kModeWatch;
  judged.maybe_machine = run.mode.empty();
  if (judged.machine) return judged;
  if (run.limits.cpuset_cpus) lower(static_cast<double>(*run.limits.cpuset_cpus));
  if (run.limits.cpu_quota_cores) lower(*run.limits.cpu_quota_cores);
  judged.has_quota = run.limits.cpu_quota_cores.has_value();
  // A file of rows alone does not tell whose cgroup it was; one with these columns had one.
  judged.own_cgroup = run.method.cpu == "cgroup" || run.method.cpu.empty();
  judged.kills_are_jobs = run.outcome.oom_killed.value_or(judged.own_cgroup);
  return judged;
}

bool has_figures(const JudgedRow& row) {
  return std::any_of(row.value.begin(), row.value.end(), [](double value) { return !is_absent(value); });
}

std::optional<RowClass> classify(const JudgedRow& row, const JudgedRun& run) {
  if ((!row.machine && row[threads] == 0) || !has_figures(row)) return std::nullopt;
  const Terms terms = terms_of(row, run);
  if (is_memory(terms, run)) return RowClass{Limit::memory};
  if (is_throttled(terms)) return RowClass{Limit::cpu_quota};
  if (has_gpu(terms) && (at_least(of_gpu(terms, job_sm_active, sm_active), 0.6) ||
                         at_least(of_gpu(terms, job_tensor_active, tensor_active), 0.4)))
    return RowClass{Limit::gpu_compute};
  if (has_gpu(terms) && at_least(of_gpu(terms, job_dram_active, dram_active), 0.6))
    return RowClass{Limit::gpu_memory_bandwidth};
  if (is_link_full(terms, job_pcie, pcie_rx, pcie_tx, pcie_max)) return RowClass{Limit::pcie};
  if (is_link_full(terms, job_nvlink, nvlink_rx, nvlink_tx, nvlink_max)) return RowClass{Limit::nvlink};
  if (is_disk(terms)) return RowClass{Limit::disk, disk_aspect(terms)};
  if (at_least(terms[net_busiest], 0.7)) return RowClass{Limit::network, Aspect::bandwidth};
  if (is_waited_for(terms, waits_network)) return RowClass{Limit::network, Aspect::peer};
  if (!row.machine && is_lock(terms)) return RowClass{Limit::lock};
  if (is_saturated(terms)) return RowClass{Limit::cpu, Aspect::saturated};
  if (is_contended(terms))
    return RowClass{Limit::cpu, below(terms.cpu, 0.9 * terms.cores) ? Aspect::contended : Aspect::unknown};
  if (!row.machine && is_single_thread(terms)) return RowClass{Limit::single_thread};
  if (!row.machine && below(terms.cpu, 0.1)) return RowClass{Limit::waiting, waiting_aspect(row)};
  return RowClass{Limit::none};
}

bool lacks_own_pressure(const JudgedRow& row, const JudgedRun& run) {
  if (row.machine) return is_absent(row[machine_cpu]) || is_absent(row[machine_io]);
  return !run.own_cgroup || is_absent(row[own_cpu]) || is_absent(row[own_io]) || is_absent(row[own_memory]);
}

RowJudge::RowJudge(const Schema& schema) {
  for (size_t source = 0; source < kSources; ++source)
    for (size_t cell = 1; cell < schema.size(); ++cell)
      if (schema[cell].name == kColumns[source]) cell_[source] = cell;
}

JudgedRow RowJudge::look(const Row& row, const JudgedRun& run) const {
  JudgedRow judged;
  for (size_t source = 0; source < kSources; ++source)
    judged.value[source] = cell_[source] > 0 && cell_[source] < row.cells.size() ? row.cells[cell_[source]] : kAbsent;
  judged.seconds = as_seconds(std::max<int64_t>(0, row.interval_ns));
  judged.machine = run.machine || (run.maybe_machine && is_absent(judged[process_cpu]));
  return judged;
}

}  // namespace tacho
