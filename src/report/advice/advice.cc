#include "report/advice/advice.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/exit_status.h"
#include "base/units.h"
#include "model/allocation.h"
#include "report/advice/advice_state.h"
#include "report/store/csv_reader.h"
#include "report/store/facts.h"
#include "report/store/human.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

constexpr double kMib = static_cast<double>(kMiB);

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

using Runs = std::vector<const Input*>;

double highest(double a, double b) { return is_absent(a) ? b : is_absent(b) ? a : std::max(a, b); }

// Over several runs: the mean of means, the highest of maxima and of sums. Runs without a value are left out.
Statistics fold(const Runs& runs, std::string_view column, unsigned aggregates) {
  Statistics folded;
  double total = 0;
  int count = 0;
  for (const Input* input : runs) {
    const Statistics statistics = statistics_of(input->stored, column);
    if ((aggregates & kMean) != 0 && !is_absent(statistics.mean)) total += statistics.mean, ++count;
    if ((aggregates & kMax) != 0) folded.max = highest(folded.max, statistics.max);
    if ((aggregates & kSum) != 0) folded.sum = highest(folded.sum, statistics.sum);
  }
  if (count > 0) folded.mean = total / count;
  return folded;
}

using TimedValue = std::pair<double, int64_t>;  // and for how long
constexpr size_t kMostValues = 500'000;

// Of two neighbours the higher one for the time of both: a run of weeks takes no more memory than one of days.
void halve(std::vector<TimedValue>& values) {
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    values[i / 2] = {values[i + 1].first, values[i].second + values[i + 1].second};
  values.resize(values.size() / 2);
}

// The value below which the job was for 95 % of its time.
double percentile_95(const Input& input) {
  CsvReader reader;
  if (!reader.open(input.rows_path)) return kAbsent;
  const auto& columns = reader.columns();
  const auto found = std::find(columns.begin(), columns.end(), "process_cpu_usage");
  if (found == columns.end()) return kAbsent;
  const auto cell = static_cast<size_t>(found - columns.begin());
  std::vector<TimedValue> values;
  int64_t total_ns = 0;
  each_timed_row(reader, input, [&](const Row& row) {
    if (is_absent(row.cells[cell]) || row.interval_ns <= 0) return;
    if (values.size() == kMostValues) halve(values);
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

// The least of the values that 95 % of them do not exceed.
double percentile_95(std::vector<double> values) {
  std::erase_if(values, [](double value) { return is_absent(value); });
  if (values.empty()) return kAbsent;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

// A damaged file may hold anything.
int64_t whole_up(double value) { return static_cast<int64_t>(std::ceil(std::clamp(value, 0.0, 1e15))); }

std::optional<double> known(double value) { return is_absent(value) ? std::nullopt : std::optional(value); }

bool was_oom_killed(const Run& run) {
  return run.outcome.oom_killed.value_or(false) || run.totals.oom_kills.value_or(0) > 0;
}

// Why nothing can be said of this run; empty when something can.
std::string refusal_of(const Input& input, std::string& hint) {
  const StoredRun& stored = input.stored;
  const RunFacts facts = facts_of(stored);
  const int exit_code = stored.run.outcome.exit_code.value_or(0);
  if (stored.run.mode == kModeWatch || is_absent(statistics_of(stored, "process_cpu_usage").max)) {
    hint = "record a job: tacho run -- CMD";
    return "there is no job in it";
  }
  const bool is_short = stored.rows < kFewestSamples || !(facts.duration_s >= static_cast<double>(kShortestSeconds));
  // A shell ends so, too, after hours, when its last command is not found.
  if (is_short && stored.run.mode == kModeRun && (exit_code == kNotExecutable || exit_code == kNotFound) &&
      !stored.run.outcome.signal) {
    hint = "see what it printed; 126 is not executable, 127 not found";
    return "the job failed to start (exit " + std::to_string(exit_code) + ")";
  }
  if (stored.rows < kFewestSamples) {
    hint = "record a longer run, or sample more often: tacho run -i 100ms -- CMD";
    return "it has " + std::to_string(stored.rows) + (stored.rows == 1 ? " sample" : " samples") + "; 10 are the least";
  }
  if (!(facts.duration_s >= static_cast<double>(kShortestSeconds))) {
    hint = "record a run as long as the job's usual one";
    return "it took " + (is_absent(facts.duration_s) ? "no known time" : duration_text(facts.duration_s)) +
           "; 10 s are the least";
  }
  return {};
}

// Those that count, with a warning for what is left out or doubtful.
Runs choose(std::span<const Input> inputs, Advice& advice) {
  Runs good, bad;
  for (const Input& input : inputs) {
    std::string hint;
    const std::string why = refusal_of(input, hint);
    if (why.empty()) {
      (ended_well(input.stored.run) ? good : bad).push_back(&input);
    } else if (advice.refused.empty()) {
      advice.refused = input.stored.shown_id() + ": " + why;
      advice.hint = hint;
    }
  }
  const Runs& chosen = good.empty() ? bad : good;
  if (chosen.empty()) return chosen;
  if (!advice.refused.empty()) advice.warnings.push_back("left out: " + advice.refused);
  advice.refused.clear(), advice.hint.clear();
  for (const Input* input : bad) {
    const std::string words = input->stored.shown_id() + " (" + outcome_words(input->stored.run) + ")";
    if (!good.empty()) advice.warnings.push_back("left out: " + words + ", since others ended well");
    else if (input->stored.run.outcome.state == RunState::running)
      advice.warnings.push_back(words + " still goes on: it may need more");
    else if (!was_oom_killed(input->stored.run))
      advice.warnings.push_back("the job did not end well: " + words + "; a whole run may need more");
  }
  return chosen;
}

void size_cpu(const Runs& runs, Advice& advice) {
  std::vector<double> percentiles;
  for (const Input* input : runs) percentiles.push_back(percentile_95(*input));
  const double used = percentile_95(std::move(percentiles));
  advice.cpu.used = known(used);
  // One core that is always busy is read as 1.01 now and then; that is no second core.
  if (!is_absent(used)) advice.cpu.advised = std::max<int64_t>(1, whole_up(used - 0.05));
}

void size_memory(const Runs& runs, Advice& advice) {
  double peak = kAbsent, limit = kAbsent;
  for (const Input* input : runs) {
    const Run& run = input->stored.run;
    peak = highest(peak, facts_of(input->stored).memory_peak_bytes / kMib);
    if (!was_oom_killed(run) || ended_well(run)) continue;
    advice.guess = true;
    if (run.limits.memory_limit_bytes)
      limit = highest(limit, static_cast<double>(*run.limits.memory_limit_bytes) / kMib);
    else if (const auto asked = run.started_by.requested.memory_bytes)
      limit = highest(limit, static_cast<double>(*asked) / kMib);
  }
  advice.memory.used = known(peak);
  if (is_absent(peak)) return;
  const double margin = runs.size() < 3 ? 1.25 : 1.2;
  const double advised = advice.guess ? std::max(2 * (is_absent(limit) ? peak : limit), peak + 1024) : peak * margin;
  advice.memory.advised = whole_up(advised);
}

void size_gpu(const Runs& runs, Advice& advice) {
  const Statistics usage = fold(runs, "process_gpu_usage", kMean | kMax);
  const double vram = fold(runs, "process_gpu_vram_mib", kMax).max,
               count = fold(runs, "process_gpu_utilized", kMax).max;
  bool there = false;
  for (const Input* input : runs) there = there || input->stored.run.host.host_gpu_count.value_or(0) > 0;
  if (is_absent(usage.max) && is_absent(vram) && is_absent(count)) {
    if (there) return advice.warnings.push_back("the GPUs here could not be read: nothing is said about them");
    advice.gpu.used = 0;
    advice.gpu.advised = 0;
    return;
  }
  const bool used = usage.max > 0 || vram > 0 || count > 0;
  // A job that holds a context on a GPU without ever computing there has used its memory.
  const double most = std::max({count > 0 ? count : 0.0, std::ceil(usage.max > 0 ? usage.max - 0.05 : 0.0), 1.0});
  advice.gpu.used = used ? known(highest(usage.max, 0)) : std::optional(0.0);
  advice.gpu.advised = used ? whole_up(most) : 0;
  if (used && vram > 0) advice.vram_mib = whole_up(vram * (runs.size() < 3 ? 1.25 : 1.2));
}

void size_time(const Runs& runs, Advice& advice) {
  double longest = kAbsent, total = 0;
  for (const Input* input : runs) {
    const double seconds = facts_of(input->stored).duration_s;
    longest = highest(longest, seconds);
    total += seconds;
  }
  advice.longest_s = known(longest);
  advice.mean_s = known(total / static_cast<double>(runs.size()));
  if (!is_absent(longest)) advice.time_s = whole_up(longest * 1.25);
}

void add_statistics(const Runs& runs, Advice& advice) {
  for (const Counted& counted : kCounted) {
    const Statistics folded = fold(runs, counted.column, counted.aggregates);
    if (is_absent(folded.mean) && is_absent(folded.max) && is_absent(folded.sum)) continue;
    advice.statistics.emplace_back(counted.column, folded);
  }
  Statistics time;
  time.sum = advice.mean_s.value_or(kAbsent);
  if (!is_absent(time.sum)) advice.statistics.emplace_back("timestamp", time);
}

}  // namespace

bool ended_well(const Run& run) { return run.outcome.state == RunState::finished; }

Advice advise(std::span<const Input> inputs) {
  Advice advice;
  const Runs runs = choose(inputs, advice);
  if (runs.empty()) {
    for (const Input& input : inputs) advice.runs.push_back(input.stored.run.id);
    if (advice.refused.empty()) advice.refused = "there is no run to advise on";
    return advice;
  }
  for (const Input* input : runs) {
    advice.runs.push_back(input->stored.run.id);
    advice.names.push_back(input->stored.shown_id());
  }
  size_cpu(runs, advice);
  size_memory(runs, advice);
  size_gpu(runs, advice);
  size_time(runs, advice);
  if (advice.guess)
    advice.warnings.push_back("the job was killed for want of memory: its size is a guess until a run succeeds");
  add_statistics(runs, advice);
  advice.allocation = guess_allocation([&](std::string_view column) { return fold(runs, column, kMean).mean; });
  judge_sizes(runs, advice);
  return advice;
}

}  // namespace tacho
