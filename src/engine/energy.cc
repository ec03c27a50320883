#include "engine/energy.h"

#include <algorithm>

namespace tacho {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

std::optional<double> sum_of_column(const Summary& summary, std::string_view column) {
  const Statistics statistics = summary.column(column);
  if (statistics.rows == 0) return std::nullopt;
  return statistics.sum;
}

// part of whole, 0 to 1; nothing where one of them is not known.
std::optional<double> share_of(double part, double whole) {
  if (is_absent(part) || is_absent(whole) || part < 0) return std::nullopt;
  return whole > 0 ? std::min(1.0, part / whole) : 0.0;
}

}  // namespace

void fill_energy(Run& run, const Summary& summary, std::string_view gpu_method) {
  Energy& energy = run.energy;
  energy.cpu_j = sum_of_column(summary, "system_cpu_energy_j");
  energy.gpu_j = sum_of_column(summary, "system_gpu_energy_j");
  energy.cpu_method = energy.cpu_j ? "rapl" : "";
  energy.gpu_method = energy.gpu_j ? std::string(gpu_method) : "";
  energy.job_j.reset();
  energy.job_share.clear();
  if (energy.cpu_j || energy.gpu_j) {
    const bool machine = run.mode == kModeWatch;
    const auto cpu =
        machine ? 1.0 : share_of(summary.column("process_cpu_usage").mean, summary.column("system_cpu_usage").mean);
    const auto gpu =
        machine ? 1.0 : share_of(summary.column("process_gpu_usage").mean, summary.column("system_gpu_usage").mean);
    const bool known = (!energy.cpu_j || cpu) && (!energy.gpu_j || gpu);
    if (known) energy.job_j = energy.cpu_j.value_or(0) * cpu.value_or(0) + energy.gpu_j.value_or(0) * gpu.value_or(0);
    if (known) energy.job_share = machine ? "exact" : "cpu time";
  }
  energy.co2_g.reset();
  const bool measured = energy.cpu_j || energy.gpu_j;
  if (energy.carbon_intensity && measured)
    energy.co2_g = energy.job_j.value_or(energy.cpu_j.value_or(0) + energy.gpu_j.value_or(0)) / kJoulesPerKwh *
                   *energy.carbon_intensity;
}

}  // namespace tacho
