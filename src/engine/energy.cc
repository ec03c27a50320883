#include "engine/energy.h"

#include <algorithm>

namespace tacho {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

// place: 0 where there is no such column.
double mean_of(const Summary& summary, size_t place) { return place > 0 ? summary.column(place).mean : kAbsent; }

// The mean of part in that of whole, 0 to 1; nothing where one of them is not known.
std::optional<double> share_of(const Summary& summary, size_t part_place, size_t whole_place) {
  const double part = mean_of(summary, part_place), whole = mean_of(summary, whole_place);
  if (is_absent(part) || is_absent(whole) || part < 0) return std::nullopt;
  return whole > 0 ? std::min(1.0, part / whole) : 0.0;
}

}  // namespace

void EnergyKeeper::begin(const Schema& schema) {
  cpu_ = place_of(schema, "system_cpu_energy_j");
  gpu_ = place_of(schema, "system_gpu_energy_j");
  job_cores_ = place_of(schema, "process_cpu_usage");
  all_cores_ = place_of(schema, "system_cpu_usage");
  job_gpus_ = place_of(schema, "process_gpu_usage");
  all_gpus_ = place_of(schema, "system_gpu_usage");
}

void EnergyKeeper::update(Run& run, const Summary& summary, std::string_view gpu_method) const {
  Energy& energy = run.energy;
  energy.cpu_j = summary.sum(cpu_);
  energy.gpu_j = summary.sum(gpu_);
  energy.cpu_method = energy.cpu_j ? "rapl" : "";
  energy.gpu_method = energy.gpu_j ? std::string(gpu_method) : "";
  energy.job_j.reset();
  energy.job_share.clear();
  if (energy.cpu_j || energy.gpu_j) {
    const bool machine = run.mode == kModeWatch;
    const auto cpu = machine ? 1.0 : share_of(summary, job_cores_, all_cores_);
    const auto gpu = machine ? 1.0 : share_of(summary, job_gpus_, all_gpus_);
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
