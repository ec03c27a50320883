#include "report/advice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"
#include "model/allocation.h"
#include "report/csv_reader.h"
#include "report/facts.h"

namespace tacho {
namespace {

enum Aggregate : unsigned { kMean = 1, kMax = 2, kSum = 4 };
struct Counted {
  std::string_view column;
  unsigned aggregates;
};
constexpr auto kCounted = std::to_array<Counted>({{"process_cpu_usage", kMean | kMax},
                                                  {"process_memory_mib", kMean | kMax},
                                                  {"process_gpu_usage", kMean | kMax},
                                                  {"process_gpu_vram_mib", kMean | kMax},
                                                  {"process_gpu_utilized", kMean | kMax},
                                                  {"system_disk_space_used_gb", kMax},
                                                  {"system_net_recv_bytes", kSum},
                                                  {"system_net_sent_bytes", kSum}});

double highest(double a, double b) { return is_absent(a) ? b : is_absent(b) ? a : std::max(a, b); }

// Over several runs: the mean of means, the highest of maxima and of sums. Runs without a value are left out.
class Folded {
 public:
  void add_mean(double value) {
    if (is_absent(value)) return;
    total_ += value;
    ++count_;
  }
  double mean() const { return count_ > 0 ? total_ / count_ : kAbsent; }

 private:
  double total_ = 0;
  int count_ = 0;
};

Statistics fold(std::span<const Input> inputs, std::string_view column, unsigned aggregates) {
  Folded mean;
  Statistics folded;
  for (const Input& input : inputs) {
    const Statistics statistics = statistics_of(input.stored, column);
    if (aggregates & kMean) mean.add_mean(statistics.mean);
    if (aggregates & kMax) folded.max = highest(folded.max, statistics.max);
    if (aggregates & kSum) folded.sum = highest(folded.sum, statistics.sum);
  }
  folded.mean = mean.mean();
  return folded;
}

double mean_of(std::span<const Input> inputs, std::string_view column) { return fold(inputs, column, kMean).mean; }

// The value below which the job was for 95 % of its time.
double percentile_95(const Input& input) {
  CsvReader reader;
  if (!reader.open(input.rows_path)) return kAbsent;
  const auto& columns = reader.columns();
  const auto found = std::find(columns.begin(), columns.end(), "process_cpu_usage");
  if (found == columns.end()) return kAbsent;
  const auto cell = static_cast<size_t>(found - columns.begin());
  std::vector<std::pair<double, int64_t>> values;
  int64_t total_ns = 0;
  each_row(reader, input.stored.run, [&](const Row& row) {
    if (is_absent(row.cells[cell]) || row.interval_ns <= 0) return;
    values.emplace_back(row.cells[cell], row.interval_ns);
    total_ns += row.interval_ns;
  });
  std::sort(values.begin(), values.end());
  int64_t passed_ns = 0;
  for (const auto& [value, interval_ns] : values) {
    passed_ns += interval_ns;
    if (static_cast<double>(passed_ns) >= 0.95 * static_cast<double>(total_ns)) return value;
  }
  return kAbsent;
}

// A damaged file may hold anything.
int64_t whole(double value) { return static_cast<int64_t>(std::clamp(value, 0.0, 1e15)); }
int64_t round_half_up(double value) { return whole(std::floor(value + 0.5)); }

}  // namespace

int64_t round_memory(double mib) {
  for (const int64_t step : {128, 256, 512, 1024, 2048})
    if (mib <= static_cast<double>(step)) return step;
  return whole(std::ceil(mib / 1024)) * 1024;
}

Advice advise(std::span<const Input> inputs) {
  Advice advice;
  Folded duration;
  double p95 = kAbsent, cores = kAbsent, memory_bytes = kAbsent;
  for (const Input& input : inputs) {
    advice.runs.push_back(input.stored.run.id);
    advice.names.push_back(input.stored.shown_id());
    const RunFacts facts = facts_of(input.stored);
    duration.add_mean(facts.duration_s);
    p95 = highest(p95, percentile_95(input));
    cores = highest(cores, facts.cores);
    memory_bytes = highest(memory_bytes, facts.memory_bytes);
  }
  for (const Counted& counted : kCounted) {
    const Statistics folded = fold(inputs, counted.column, counted.aggregates);
    if (is_absent(folded.mean) && is_absent(folded.max) && is_absent(folded.sum)) continue;
    advice.statistics.emplace_back(counted.column, folded);
  }
  Statistics time;
  time.sum = duration.mean();
  if (!is_absent(time.sum)) advice.statistics.emplace_back("timestamp", time);

  const auto of = [&](std::string_view column) { return fold(inputs, column, kMean | kMax); };
  const Statistics cpu = of("process_cpu_usage"), memory = of("process_memory_mib"), gpu = of("process_gpu_usage");
  const double vram_max = of("process_gpu_vram_mib").max;
  if (!is_absent(cpu.mean)) advice.cpu = std::max<int64_t>(1, round_half_up(cpu.mean));
  if (!is_absent(p95)) advice.cpu_p95 = std::max<int64_t>(1, whole(std::ceil(p95)));
  if (!is_absent(memory.max)) advice.memory_mib = round_memory(memory.max * 1.2);
  if (gpu.mean > 0) advice.gpu = std::max<int64_t>(1, round_half_up(gpu.max));
  if (vram_max > 0) advice.vram_mib = round_memory(vram_max * 1.2);
  advice.allocation = guess_allocation([&](std::string_view column) { return mean_of(inputs, column); });
  if (!is_absent(cores)) advice.had_cores = cores;
  if (!is_absent(memory_bytes)) advice.had_memory_mib = memory_bytes / static_cast<double>(kMiB);
  return advice;
}

}  // namespace tacho
