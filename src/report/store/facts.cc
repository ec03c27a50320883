#include "report/store/facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/units.h"
#include "model/allocation.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr double kBytesPerMib = static_cast<double>(kMiB);

template <class Number>
double known(const std::optional<Number>& value, double scale = 1) {
  return value ? static_cast<double>(*value) * scale : kAbsent;
}

double first(double a, double b) { return is_absent(a) ? b : a; }
double higher(double a, double b) { return is_absent(a) ? b : is_absent(b) ? a : std::max(a, b); }

// As run.json keeps it: the exit line and what is read back from the store are the same figure.
double kept(double value, double digits) { return std::round(value * digits) / digits; }

// Of a job of milliseconds both are known too roughly to be divided: where that explains the difference, the mean over
// its rows is the same figure, and better known.
double mean_of(double cpu_s, double duration_s, double of_rows) {
  constexpr double kOfCpu = 1e-4, kOfDuration = 5e-4;  // by rounding
  const double mean = kept(cpu_s / duration_s, 1e4);
  const double rough = (kOfCpu + mean * kOfDuration) / std::max(duration_s - kOfDuration, kOfDuration);
  return std::fabs(of_rows - mean) <= rough ? of_rows : mean;
}

// Lowers `value` to `limit`; true when the limit is the lower one.
bool lower_to(double& value, double limit) {
  if (is_absent(limit) || value <= limit) return false;
  value = limit;
  return true;
}

}  // namespace

RunFacts facts_of(const Run& run, double duration_s, const StatisticsOf& statistics) {
  // A metrics file has no mode: without a job's columns it is about the machine.
  const bool machine = run.mode == kModeWatch || (run.mode.empty() && is_absent(statistics("process_cpu_usage").mean));
  const std::string side = machine ? "system_" : "process_";
  RunFacts facts;
  facts.duration_s = kept(run.outcome.duration_ns > 0 ? as_seconds(run.outcome.duration_ns) : duration_s, 1e3);

  const Statistics cpu = statistics(side + "cpu_usage");
  facts.cpu_mean = kept(cpu.mean, 1e4);
  facts.cpu_max = kept(cpu.max, 1e4);
  facts.cpu_user_s = kept(first(known(run.totals.cpu_user_s), statistics(side + "utime").sum), 1e4);
  facts.cpu_system_s = kept(first(known(run.totals.cpu_system_s), statistics(side + "stime").sum), 1e4);
  if (!machine && run.totals.cpu_user_s && run.totals.cpu_system_s && facts.duration_s > 0)
    facts.cpu_mean = mean_of(facts.cpu_user_s + facts.cpu_system_s, facts.duration_s, facts.cpu_mean);
  // The rows of a job of a few milliseconds cover more time than it took: their maximum may be below the average.
  if (facts.cpu_mean > facts.cpu_max) facts.cpu_mean = facts.cpu_max;
  facts.cores = known(run.host.host_vcpus);
  facts.cores_limited = lower_to(facts.cores, known(run.limits.cpuset_cpus));
  facts.cores_limited |= lower_to(facts.cores, known(run.limits.cpu_quota_cores));

  const Statistics memory = statistics(machine ? "system_memory_used_mib" : "process_memory_mib");
  facts.memory_mean_bytes = kept(memory.mean, machine ? 1e2 : 1e3) * kBytesPerMib;
  facts.memory_peak_bytes = memory.max * kBytesPerMib;
  // Totals hold the highest of samples and high-water marks; those of a killed run may lack its last rows. The sample's
  // maximum is kept in thousandths of a MiB: within these it is the same figure.
  if (const double total = known(run.totals.memory_peak_bytes); !machine && !is_absent(total)) {
    // A file may say anything, but no peak is below zero.
    const bool is_same = total >= 0 && std::fabs(facts.memory_peak_bytes - total) <= kBytesPerMib / 2e3 + 1;
    facts.memory_peak_bytes = is_same ? total : higher(total, facts.memory_peak_bytes);
  }
  if (facts.memory_mean_bytes > facts.memory_peak_bytes) facts.memory_mean_bytes = facts.memory_peak_bytes;
  facts.memory_bytes = known(run.host.host_memory_mib, kBytesPerMib);
  facts.memory_limited = lower_to(facts.memory_bytes, known(run.limits.memory_limit_bytes));

  facts.disk_read_bytes = statistics(side + "disk_read_bytes").sum;
  facts.disk_write_bytes = statistics(side + "disk_write_bytes").sum;
  if (!machine) {
    facts.disk_read_bytes = first(known(run.totals.io_read_bytes), facts.disk_read_bytes);
    facts.disk_write_bytes = first(known(run.totals.io_write_bytes), facts.disk_write_bytes);
  }
  facts.net_recv_bytes = statistics("system_net_recv_bytes").sum;
  facts.net_sent_bytes = statistics("system_net_sent_bytes").sum;

  if (!machine && run.outcome.state != RunState::running)
    facts.allocation = guess_allocation([&](std::string_view column) { return statistics(column).mean; });

  // A machine without a GPU has a measured 0 in its columns; there is nothing to tell about it.
  facts.gpus = known(run.host.host_gpu_count);
  if (facts.gpus == 0) return facts;
  const Statistics gpu = statistics(side + "gpu_usage");
  if (machine && is_absent(facts.gpus) && gpu.max == 0) return facts;
  facts.gpu_mean = kept(gpu.mean, 1e4);
  facts.gpu_max = kept(gpu.max, 1e4);
  facts.vram_peak_bytes = statistics(side + "gpu_vram_mib").max * kBytesPerMib;
  facts.vram_bytes = known(run.host.host_gpu_memory_mib, kBytesPerMib);
  return facts;
}

bool is_of_facts(std::string_view column) {
  constexpr auto kOfMachine = std::to_array<std::string_view>({"memory_used_mib", "net_recv_bytes", "net_sent_bytes"});
  constexpr auto kOfBoth = std::to_array<std::string_view>(
      {"cpu_usage", "utime", "stime", "disk_read_bytes", "disk_write_bytes", "gpu_usage", "gpu_vram_mib"});
  const auto is_in = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (column.starts_with("system_")) return is_in(kOfBoth, column.substr(7)) || is_in(kOfMachine, column.substr(7));
  if (column.starts_with("process_")) return is_in(kOfBoth, column.substr(8)) || column == "process_memory_mib";
  return column == "timestamp";
}

Statistics statistics_of(const StoredRun& stored, std::string_view column) {
  for (const auto& [name, statistics] : stored.statistics)
    if (name == column) return statistics;
  return {};
}

RunFacts facts_of(const StoredRun& stored) {
  const auto lookup = [&](std::string_view column) { return statistics_of(stored, column); };
  return facts_of(stored.run, lookup("timestamp").sum, lookup);
}

}  // namespace tacho
