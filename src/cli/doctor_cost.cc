// tacho doctor --cost: what each probe costs a tick, here and now, measured on tacho itself.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/units.h"
#include "base/writer.h"
#include "cli/doctor.h"
#include "discover/cgroups.h"
#include "os/clock.h"
#include "os/timespec.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr int64_t kLongestNs = 40 * kNsPerMs;  // a probe; all of them together stay below a second
constexpr int kMostTicks = 50;

int64_t own_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return as_ns(now);
}

// A job to look at: a process of ours that does next to nothing, but runs at every tick.
class SmallJob {
 public:
  SmallJob() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const timespec pause{0, kNsPerMs / 2};;) ::nanosleep(&pause, nullptr);
  }
  ~SmallJob() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  SmallJob(const SmallJob&) = delete;
  SmallJob& operator=(const SmallJob&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Long enough for the job to run in between: what did not run is hardly looked at.
void rest() {
  const timespec pause{0, kNsPerMs};
  ::nanosleep(&pause, nullptr);
}

// The CPU time of a reading, the first one left out: that one opens the files. What an earlier probe of the same tick
// would have told is in `facts`, and in the tree, which the probe `process` looks at itself.
double cost_us(Probe& probe, ProbeContext& context, ProcessTree& tree, const TickFacts& facts, bool looks_itself) {
  Reading reading;
  int64_t spent_ns = 0;
  int ticks = -1;
  const int64_t end_ns = system_clock().monotonic_ns() + kLongestNs;
  while (ticks < 1 || (ticks < kMostTicks && system_clock().monotonic_ns() < end_ns)) {
    rest();
    context.facts = facts;
    if (!looks_itself) tree.update(system_clock().monotonic_ns());
    reading.clear();
    reading.stamp_ns = system_clock().monotonic_ns();
    const int64_t before_ns = own_cpu_ns();
    probe.prepare();
    probe.read(reading);
    if (++ticks > 0) spent_ns += own_cpu_ns() - before_ns;
  }
  return static_cast<double>(spent_ns) / 1e3 / std::max(1, ticks);
}

}  // namespace

std::vector<ProbeCost> measure_costs(const Roots& roots) {
  std::vector<ProbeCost> costs;
  const SmallJob job;
  TickFacts facts;
  for (const ProbeInfo& info : all_probes()) {
    ProbeContext context;
    context.roots = roots;
    context.cgroup = find_cgroups(roots, 0);
    ProcessTree tree(context);
    context.tree = &tree;
    context.job_pids = &tree;
    if (!info.check(roots) || job.pid() <= 0 || !tree.follow(job.pid(), false)) continue;
    const auto probe = info.make(context);
    if (!probe) continue;
    costs.push_back({std::string(info.name), cost_us(**probe, context, tree, facts, &info == find_probe("process"))});
    facts.swap_total_bytes = std::max(facts.swap_total_bytes, context.facts.swap_total_bytes);
  }
  return costs;
}

std::string costs_text(const std::vector<ProbeCost>& costs) {
  Writer out;
  double sum = 0;
  for (const ProbeCost& cost : costs) {
    out.put(cost.probe);
    out.put_spaces(cost.probe.size() < 18 ? 18 - cost.probe.size() : 1);
    out.put_fixed(cost.us, 1);
    out.put(" µs a tick\n");
    sum += cost.us;
  }
  out.put("\nall together      ");
  out.put_fixed(sum, 1);
  out.put(" µs a tick, for one process; tacho list probes says which are on.\n");
  return std::string(out.view());
}

std::string costs_json(const std::vector<ProbeCost>& costs) {
  Writer out;
  JsonWriter json(out, true);
  json.array();
  for (const ProbeCost& cost : costs) {
    json.object().key("probe").value(cost.probe).key("us").number(cost.us, 2).end_object();
  }
  json.end_array();
  return std::string(out.view()) + "\n";
}

}  // namespace tacho
