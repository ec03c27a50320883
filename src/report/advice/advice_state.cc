#include "report/advice/advice_state.h"

#include "base/units.h"
#include "report/store/facts.h"

namespace tacho {
namespace {

constexpr double kBytesInMib = static_cast<double>(kMiB);
// More than this much of what is advised is too much; a size in steps (1, 2, 4 cores) is not called so for one step.
constexpr double kMuch = 1.5;
constexpr double kFull = 0.95;       // of the memory: the next run may not fit
constexpr double kThrottled = 0.05;  // of the time
constexpr double kIdle = 0.9;        // of the cores
constexpr double kWaiting = 0.3;     // of the time somebody waited for a core

void raise(std::optional<double>& value, const std::optional<double>& other) {
  if (other && !(value && *value >= *other)) value = other;
}
template <class Number>
std::optional<double> as_number(const std::optional<Number>& value, double unit = 1) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value) / unit;
}
std::optional<double> when_known(double value) { return is_absent(value) ? std::nullopt : std::optional(value); }

// Limits of a cgroup and affinities stand where nobody told the size that was asked for.
void take_asked(const StoredRun& stored, Advice& advice) {
  const RunFacts facts = facts_of(stored);
  const Run& run = stored.run;
  const RequestedSize& requested = run.started_by.requested;
  raise(advice.cpu.asked, requested.cpus        ? requested.cpus
                          : facts.cores_limited ? when_known(facts.cores)
                                                : std::nullopt);
  raise(advice.memory.asked, requested.memory_bytes ? as_number(requested.memory_bytes, kBytesInMib)
                             : facts.memory_limited ? when_known(facts.memory_bytes / kBytesInMib)
                                                    : std::nullopt);
  raise(advice.gpu.asked, as_number(requested.gpus));
  raise(advice.cpu.had, when_known(facts.cores));
  raise(advice.memory.had, when_known(facts.memory_bytes / kBytesInMib));
  raise(advice.gpu.had, as_number(run.host.host_gpu_count));
}

void judge(Sizing& sizing, bool is_under, const char* under, const char* over) {
  if (!sizing.advised) return;
  const std::optional<double> had = sizing.asked ? sizing.asked : sizing.had;
  const double advised = static_cast<double>(*sizing.advised);
  if (is_under) sizing.state = "under", sizing.risk = under;
  else if (had && *had > advised && *had >= kMuch * advised) sizing.state = "over", sizing.risk = over;
  else sizing.state = "right", sizing.risk = "none that this shows";
}

}  // namespace

void judge_sizes(const std::vector<const Input*>& runs, Advice& advice) {
  bool waited = false, throttled = false;
  for (const Input* input : runs) {
    const StoredRun& stored = input->stored;
    take_asked(stored, advice);
    const double throttled_s = statistics_of(stored, "cgroup_throttled_time").sum;
    const double waiting = statistics_of(stored, "cgroup_pressure_cpu_some").mean;
    throttled = throttled || throttled_s > kThrottled * facts_of(stored).duration_s;
    waited = waited || throttled || waiting > kWaiting;
  }
  const auto had = [](const Sizing& sizing) { return sizing.asked ? sizing.asked : sizing.had; };
  const std::optional<double> cores = had(advice.cpu), memory = had(advice.memory), gpus = had(advice.gpu);
  const bool few_cores = cores && advice.cpu.advised && static_cast<double>(*advice.cpu.advised) > *cores + 0.999;
  // It waited, and yet did not use what it had.
  const bool by_others = waited && !throttled && cores && advice.cpu.used && *advice.cpu.used < kIdle * *cores;
  judge(advice.cpu, few_cores || waited,
        by_others ? "others held the cores that the job waited for: it needs cores of its own, not more of them"
                  : "the job waited for cores: it takes longer than it has to",
        "cores that stand idle are paid for and kept from others");
  const bool full = memory && advice.memory.used && *advice.memory.used >= kFull * *memory;
  judge(advice.memory, full || advice.guess, "a run that needs a little more is killed",
        "memory that nobody uses is paid for and kept from others");
  const bool few_gpus = gpus && advice.gpu.advised && static_cast<double>(*advice.gpu.advised) > *gpus;
  judge(advice.gpu, few_gpus, "the job shares its GPUs", "GPUs that stand idle are paid for and kept from others");
}

}  // namespace tacho
