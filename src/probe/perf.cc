// Hardware counters of the job (inherited by its children, enabled when it runs exec) and, with CAP_PERFMON, of the
// machine. Virtual machines often have none, and kernel.perf_event_paranoid may forbid them: the columns stay empty
// then.
#include "probe/perf.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "os/file.h"
#include "os/perf_counter.h"
#include "probe/l2_events.h"

namespace tacho {
namespace {

enum Field : size_t {
  kCycles,
  kInstructions,
  kL1Loads,
  kL1Misses,
  kLastLevelLoads,
  kLastLevelMisses,
  kTlbLoads,
  kTlbMisses,
  kL2Requests,
  kL2Misses,
  kJobFields,
  kSystemCycles = kJobFields,
  kSystemInstructions
};
constexpr std::array<PerfEvent, kL2Requests> kGenericEvents{kPerfCycles,   kPerfInstructions,   kPerfL1Loads,
                                                            kPerfL1Misses, kPerfLastLevelLoads, kPerfLastLevelMisses,
                                                            kPerfTlbLoads, kPerfTlbMisses};

// Δpart / Δwhole; absent when the whole did not move.
double share(const Reading& before, const Reading& now, Field part, Field whole) {
  if (!before.has(part) || !now.has(part) || !before.has(whole) || !now.has(whole)) return kAbsent;
  const auto added = [&](Field field) {
    return static_cast<double>(std::max<int64_t>(0, now.get(field) - before.get(field)));
  };
  return added(whole) > 0 ? added(part) / added(whole) : kAbsent;
}

double hit_rate(const Reading& before, const Reading& now, Field misses, Field loads) {
  const double missed = share(before, now, misses, loads);
  return is_absent(missed) ? kAbsent : std::max(0.0, 1 - missed);
}

double system_ipc(const Reading& a, const Reading& b, double) {
  return share(a, b, kSystemInstructions, kSystemCycles);
}
double process_ipc(const Reading& a, const Reading& b, double) { return share(a, b, kInstructions, kCycles); }
double l1_hits(const Reading& a, const Reading& b, double) { return hit_rate(a, b, kL1Misses, kL1Loads); }
double l2_hits(const Reading& a, const Reading& b, double) { return hit_rate(a, b, kL2Misses, kL2Requests); }
double l3_hits(const Reading& a, const Reading& b, double) { return hit_rate(a, b, kLastLevelMisses, kLastLevelLoads); }
double tlb_misses(const Reading& a, const Reading& b, double) { return share(a, b, kTlbMisses, kTlbLoads); }

constexpr Column kColumns[] = {
    {116, "system_ipc", "1", 4, Rule::custom, 0, 1, "Instructions a CPU cycle of the machine; needs CAP_PERFMON.",
     system_ipc},
    {117, "process_ipc", "1", 4, Rule::custom, 0, 1, "Instructions a CPU cycle of the job.", process_ipc},
    {118, "process_l1_hit_rate", "1", 4, Rule::custom, 0, 1,
     "Share of the job's loads that the first-level data cache had.", l1_hits},
    {119, "process_l2_hit_rate", "1", 4, Rule::custom, kL2Requests, 1,
     "Share of the job's data requests to the second-level cache that hit, by raw events of AMD Zen, Intel since "
     "Skylake "
     "and Arm Neoverse; empty on others.",
     l2_hits},
    {120, "process_l3_hit_rate", "1", 4, Rule::custom, 0, 1, "Share of the job's last-level cache loads that hit.",
     l3_hits},
    {121, "process_tlb_miss_rate", "1", 4, Rule::custom, 0, 1, "Share of the job's loads that missed the data TLB.",
     tlb_misses},
};

class PerfProbe final : public Probe {
 public:
  explicit PerfProbe(const ProbeContext& context) {
    const std::string cpuinfo = read_whole_file(context.roots.proc + "/cpuinfo").value_or("");
    l2_ = l2_events(parse_cpuinfo(cpuinfo));
    const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < cpus; ++cpu) {
      auto cycles = PerfCounter::on_cpu(kPerfCycles, cpu), instructions = PerfCounter::on_cpu(kPerfInstructions, cpu);
      if (!cycles || !instructions) break;
      system_cycles_.push_back(std::move(*cycles));
      system_instructions_.push_back(std::move(*instructions));
    }
  }

  bool wants_new_job() const override { return true; }
  void new_job(pid_t pid) override {
    for (size_t i = 0; i < kGenericEvents.size(); ++i) count(i, kGenericEvents[i], pid);
    if (l2_) {
      count(kL2Requests, l2_->requests, pid);
      count(kL2Misses, l2_->misses, pid);
    }
    started_ = true;
  }

  void read(Reading& out) override {
    for (size_t i = 0; i < job_.size(); ++i) {
      if (!started_) out.set(i, 0);  // the baseline: nothing has run
      else if (const auto value = job_[i].read()) out.set(i, *value);
    }
    set_sum(out, kSystemCycles, system_cycles_);
    set_sum(out, kSystemInstructions, system_instructions_);
  }

 private:
  void count(size_t field, PerfEvent event, pid_t pid) {
    auto counter = PerfCounter::on_next_exec(event, pid);
    if (counter) job_[field] = std::move(*counter);
    else log::debug("perf: " + counter.error().message());
  }
  static void set_sum(Reading& out, size_t field, const std::vector<PerfCounter>& counters) {
    int64_t sum = 0;
    for (const PerfCounter& counter : counters) {
      const auto value = counter.read();
      if (!value) return;
      sum += *value;
    }
    if (!counters.empty()) out.set(field, sum);
  }

  std::array<PerfCounter, kJobFields> job_;
  std::vector<PerfCounter> system_cycles_, system_instructions_;
  std::optional<L2Events> l2_;
  bool started_ = false;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  return std::unique_ptr<Probe>(std::make_unique<PerfProbe>(context));
}

Status check(const Roots&) {
  auto counter = PerfCounter::on_next_exec(kPerfCycles, 0);
  if (counter) return ok();
  Error error = counter.error();
  error.hint = error.code == Code::denied ? "sysctl kernel.perf_event_paranoid=2, or run as root"
                                          : "this machine shows no hardware counters (common in virtual machines)";
  return error;
}

}  // namespace

constinit const ProbeInfo kPerfProbe{
    "perf", ProbeDefault::off, "instructions, cycles, cache and TLB of the job", kColumns, make, check};

}  // namespace tacho
