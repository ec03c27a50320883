#include "report/store/phases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.h"
#include "report/store/csv_reader.h"

namespace tacho {
namespace {

constexpr double kForever_s = std::numeric_limits<double>::infinity();

// Kept to what is written, so that seconds are the difference of both times.
double milliseconds(double seconds) { return std::isfinite(seconds) ? std::round(seconds * 1e3) / 1e3 : seconds; }

void add_to(double& sum, double value, double share) {
  if (!std::isfinite(value)) return;
  sum = (is_absent(sum) ? 0 : sum) + value * share;
}

double cell(const Row& row, size_t column) {
  return column > 0 && column < row.cells.size() ? row.cells[column] : kAbsent;
}

}  // namespace

std::vector<Phase> phases_of(const Marks& marks, double start_s, double end_s) {
  std::vector<Phase> phases;
  bool open = false;
  for (const Mark& mark : marks.marks) {
    if (mark.event == MarkEvent::point) continue;
    const double time_s = milliseconds(std::clamp(mark.time_s, start_s, std::max(start_s, end_s)));
    if (open) phases.back().ended_s = time_s;
    open = mark.event == MarkEvent::phase;
    if (open) phases.push_back({.name = mark.name, .started_s = time_s, .ended_s = milliseconds(end_s)});
  }
  return phases;
}

PhaseFold::PhaseFold(std::vector<Phase>& phases, const std::vector<std::string>& columns, bool machine)
    : phases_(phases), sums_(phases.size()) {
  const auto find = [&](const std::string& name) {
    const auto at = std::find(columns.begin(), columns.end(), (machine ? "system_" : "process_") + name);
    return at == columns.end() ? 0 : static_cast<size_t>(at - columns.begin());
  };
  user_ = find("utime");
  system_ = find("stime");
  memory_ = find(machine ? "memory_used_mib" : "memory_mib");
  read_ = find("disk_read_bytes");
  written_ = find("disk_write_bytes");
  gpu_ = find("gpu_usage");
}

void PhaseFold::add(const Row& row) {
  const double end_s = row.cells.at(0), interval_s = as_seconds(row.interval_ns);
  const double start_s = end_s - interval_s;
  last_s_ = std::max(last_s_, end_s);
  // The first that is not over before the row begins.
  auto at = std::partition_point(phases_.begin(), phases_.end(), [&](const Phase& p) { return p.ended_s <= start_s; });
  for (; at != phases_.end() && at->started_s < end_s; ++at) {
    const double seconds = std::min(end_s, at->ended_s) - std::max(start_s, at->started_s);
    if (seconds > 0) add_share(static_cast<size_t>(at - phases_.begin()), row, seconds, seconds / interval_s);
    const double memory = cell(row, memory_);
    if (end_s <= at->ended_s && std::isfinite(memory))
      at->memory_peak_mib = is_absent(at->memory_peak_mib) ? memory : std::max(at->memory_peak_mib, memory);
  }
}

void PhaseFold::add_share(size_t phase, const Row& row, double seconds, double share) {
  Phase& into = phases_[phase];
  add_to(into.cpu_s, cell(row, user_), share);
  add_to(into.cpu_s, cell(row, system_), share);
  add_to(into.disk_read_bytes, cell(row, read_), share);
  add_to(into.disk_write_bytes, cell(row, written_), share);
  if (const double gpu = cell(row, gpu_); std::isfinite(gpu)) {
    sums_[phase].gpu += gpu * seconds;
    sums_[phase].gpu_s += seconds;
  }
}

void PhaseFold::finish() {
  for (size_t i = 0; i < phases_.size(); ++i) {
    Phase& phase = phases_[i];
    if (phase.ended_s == kForever_s) phase.ended_s = std::max(phase.started_s, milliseconds(last_s_));
    const double seconds = phase.ended_s - phase.started_s;
    if (seconds > 0 && !is_absent(phase.cpu_s)) phase.cpu_mean = phase.cpu_s / seconds;
    if (sums_[i].gpu_s > 0) phase.gpu_mean = sums_[i].gpu / sums_[i].gpu_s;
  }
}

void fold_phases(const std::string& folder, Run& run) {
  const Marks marks = read_marks(folder);
  run.marks_dropped = marks.dropped;
  const double start_s = seconds_by_ms(run.outcome.started_realtime_ns);
  const int64_t finished_ns = run.outcome.finished_realtime_ns;
  run.phases = phases_of(marks, start_s, finished_ns > 0 ? as_seconds(finished_ns) : kForever_s);
  if (run.phases.empty()) return;
  CsvReader rows;
  const bool readable = static_cast<bool>(rows.open(folder + "/metrics.csv"));
  PhaseFold fold(run.phases, rows.columns(), run.mode == kModeWatch);
  rows.set_start(start_s);
  Row row;
  while (readable && rows.next(row)) fold.add(row);
  fold.finish();
  // A machine without a GPU has a measured 0 in its columns.
  if (run.host.host_gpu_count.value_or(0) == 0)
    for (Phase& phase : run.phases) phase.gpu_mean = kAbsent;
}

}  // namespace tacho
