// CPU time, context switches and number of processes of the machine, from /proc/stat and the names in /proc.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/saturate.h"
#include "base/units.h"
#include "os/directory.h"
#include "probe/make.h"
#include "probe/system.h"
#include "procfs/loadavg.h"
#include "procfs/stat.h"

namespace tacho {
namespace {

enum Field : size_t { processes, user_ns, system_ns, busy_ns, total_ns, cores, iowait_ns, steal_ns, ctxt_switches };

constexpr double kToSeconds = 1e-9;

// cores × busy / all, both of the same clock, so that the two need not agree with ours.
double cpu_usage(const Reading& before, const Reading& now, double) {
  if (!before.has(total_ns) || !now.has(total_ns)) return kAbsent;
  const auto busy = static_cast<double>(now.get(busy_ns) - before.get(busy_ns));
  const auto total = static_cast<double>(now.get(total_ns) - before.get(total_ns));
  if (total <= 0) return 0;  // an interval in which no tick was counted, so no busy one
  return static_cast<double>(now.get(cores)) * std::clamp(busy / total, 0.0, 1.0);
}

constexpr Column kColumns[] = {
    {2, "system_processes", "count", 0, Rule::level, processes, 1, "Processes alive on the machine.", nullptr},
    {3, "system_utime", "s", 3, Rule::delta, user_ns, kToSeconds,
     "CPU time that the machine spent in programs in this interval.", nullptr},
    {4, "system_stime", "s", 3, Rule::delta, system_ns, kToSeconds,
     "CPU time that the machine spent in the kernel in this interval.", nullptr},
    {5, "system_cpu_usage", "cores", 4, Rule::custom, busy_ns, 1, "Cores of the machine in use, 0 to their number.",
     cpu_usage},
    {102, "system_iowait", "s", 3, Rule::delta, iowait_ns, kToSeconds,
     "CPU time idle while a disk was waited for, in this interval.", nullptr},
    {103, "system_steal", "s", 3, Rule::delta, steal_ns, kToSeconds,
     "CPU time that the hypervisor gave to others in this interval.", nullptr},
    {104, "system_ctxt_switches", "count", 0, Rule::delta, ctxt_switches, 1,
     "Context switches of the machine in this interval.", nullptr},
};

// Counting the names in /proc costs as much as all other machine-wide readings together. It is left out while it
// provably gives the same: nothing was started (forks) and nothing ended (threads). The two numbers are read one after
// the other, so that a process may come between them and be gone at the next tick; only numbers that were the same at
// two counts in a row are trusted. A machine that starts processes all the time is counted once a second at the most.
class ProcessCount {
  static constexpr int64_t kCountAgainNs = kNsPerSec - 50 * kNsPerMs;  // a tick of one second may come early

 public:
  explicit ProcessCount(const std::string& proc) : proc_(::open(proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  std::optional<int64_t> get(int64_t forks, int64_t threads, int64_t now_ns) {
    // Sandboxes that do not keep these numbers write 0.
    const bool known = forks > 0 && threads > 0;
    const bool same = known && forks == forks_ && threads == threads_;
    if (same && confirmed_ && count_) return count_;
    if (count_ && now_ns - counted_ns_ < kCountAgainNs) return count_;
    counted_ns_ = now_ns;
    confirmed_ = same;
    forks_ = forks;
    threads_ = threads;
    count_ = count();
    return count_;
  }

 private:
  std::optional<int64_t> count() {
    int64_t count = 0;
    NumericEntries entries(proc_.get());
    for (int pid = 0; entries.next(pid);) ++count;
    if (count == 0) return std::nullopt;  // unreadable: at least tacho itself would be there
    return count;
  }

  Fd proc_;
  std::optional<int64_t> count_;
  int64_t forks_ = -1;
  int64_t threads_ = -1;
  int64_t counted_ns_ = 0;
  bool confirmed_ = false;
};

class CpuProbe final : public Probe {
 public:
  explicit CpuProbe(ProbeContext& context)
      : context_(context),
        stat_(context.roots.proc + "/stat"),
        loadavg_(context.roots.proc + "/loadavg"),
        processes_(context.roots.proc) {
    const long hz = ::sysconf(_SC_CLK_TCK);
    ns_per_tick_ = kNsPerSec / (hz > 0 ? hz : 100);
  }

  void read(Reading& out) override {
    context_.facts.forks = -1;
    ProcStat stat;
    if (!read_stat(stat)) return;
    context_.facts.forks = stat.forks;
    if (const auto count = processes_.get(stat.forks, threads(), out.stamp_ns)) out.set(processes, *count);
    set_known(out, ctxt_switches, stat.ctxt);
    if (!stat.has_all) return;
    hold(stat.all.idle, idle_);
    hold(stat.all.iowait, iowait_);
    out.set(user_ns, ns(saturating_add(stat.all.user, stat.all.nice)));
    out.set(system_ns, ns(stat.all.system));
    out.set(busy_ns, ns(stat.all.busy()));
    out.set(total_ns, ns(stat.all.total()));
    out.set(iowait_ns, ns(stat.all.iowait));
    out.set(steal_ns, ns(stat.all.steal));
    out.set(cores, stat.cores);
  }

  void describe(Detail& detail) override {
    wants_cores_ = true;
    ProcStat stat;
    // The first time, and after a CPU came: read again with room for all cores.
    while (core_count_ > cores_.size()) {
      cores_.resize(core_count_);
      if (!read_stat(stat)) return;
    }
    for (size_t i = 0; i < core_count_; ++i)
      detail.cores.push_back({ns(cores_[i].busy()), ns(cores_[i].total())});
  }

 private:
  bool read_stat(ProcStat& stat) {
    std::string_view text;
    core_count_ = 0;
    if (!stat_.read(context_.buffer, text)) return false;
    stat = parse_proc_stat(text, wants_cores_ ? std::span<CpuTicks>(cores_) : std::span<CpuTicks>());
    core_count_ = static_cast<size_t>(stat.cores);
    return true;
  }

  int64_t threads() {
    if (context_.facts.threads >= 0) return context_.facts.threads;
    std::string_view text;
    return loadavg_.read(context_.buffer, text) ? parse_loadavg(text).threads : -1;
  }

  int64_t ns(int64_t ticks) const { return saturating_multiply(ticks, ns_per_tick_); }

  // idle and iowait of /proc/stat may step back a little (Documentation/filesystems/proc.rst): the higher value
  // stays until it is passed. A fall by more than a minute is a counter that began anew.
  void hold(int64_t& now, int64_t& highest) const {
    const int64_t minute = 60 * kNsPerSec / ns_per_tick_;
    if (now < highest && highest - now < minute) now = highest;
    highest = now;
  }

  ProbeContext& context_;
  KeptFile stat_, loadavg_;
  ProcessCount processes_;
  int64_t ns_per_tick_ = 0;
  int64_t idle_ = 0;
  int64_t iowait_ = 0;
  bool wants_cores_ = false;
  size_t core_count_ = 0;
  std::vector<CpuTicks> cores_;  // of the last reading; empty until an output wants them
};

Status check(const Roots& roots) { return need_file(roots.proc + "/stat", kMountProcHint); }

}  // namespace

const ProbeInfo kCpuProbe = {"cpu", ProbeDefault::on, "CPU time, context switches and processes of the machine",
                             kColumns, make_probe<CpuProbe>, check};

}  // namespace tacho
