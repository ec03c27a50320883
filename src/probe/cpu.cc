// CPU time, context switches and number of processes of the machine, from /proc/stat and the names in /proc.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/saturate.h"
#include "base/units.h"
#include "os/directory.h"
#include "probe/core_places.h"
#include "probe/kit/make.h"
#include "probe/kit/scales.h"
#include "probe/system.h"
#include "procfs/stat.h"

namespace tacho {
namespace {

enum Field : size_t { processes, user_ns, system_ns, busy_ns, total_ns, cores, iowait_ns, steal_ns, ctxt_switches };

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

// Counting the names in /proc costs as much as all other machine-wide readings together. In the initial PID namespace
// the kernel adds the number of processes to the link count of /proc (fs/proc/root.c), so that one fstat tells it once
// the rest of the link count is known. Elsewhere the names are counted: every time where they are few, as in a
// container, else once a second at the most.
class ProcessCount {
 public:
  explicit ProcessCount(const std::string& proc)
      : proc_(::open(proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
        // Mounted with hidepid=2 the link count still has the processes of others, whose names are hidden.
        has_links_(read_link(proc + "/self/ns/pid") == "pid:[4026531836]" && file_exists(proc + "/1")) {}

  std::optional<int64_t> get(int64_t now_ns) {
    if (count_ && now_ns < next_count_ns_ && (has_links_ || *count_ > kFewProcesses)) {
      const int64_t links = other_links_ >= 0 ? link_count(proc_.get()) : -1;
      return links >= 0 ? links - other_links_ : *count_;
    }
    // Counted between two equal link counts: no process came or went meanwhile.
    const int64_t before = has_links_ ? link_count(proc_.get()) : -1;
    count_ = count();
    const bool steady = count_ && before >= 0 && before == link_count(proc_.get());
    other_links_ = steady ? before - *count_ : -1;
    next_count_ns_ = now_ns + (steady ? kCheckLinksNs : kCountAgainNs);
    return count_;
  }

 private:
  static constexpr int64_t kCountAgainNs = kNsPerSec - 50 * kNsPerMs;  // a tick of one second may come early
  static constexpr int64_t kFewProcesses = 200;
  static constexpr int64_t kCheckLinksNs = 60 * kNsPerSec;  // a module may add a folder to /proc

  std::optional<int64_t> count() {
    int64_t count = 0;
    NumericEntries entries(proc_.get());
    for (int pid = 0; entries.next(pid);) ++count;
    if (count == 0) return std::nullopt;  // unreadable: at least tacho itself would be there
    return count;
  }

  Fd proc_;
  bool has_links_;
  std::optional<int64_t> count_;
  int64_t other_links_ = -1;  // −1: unknown
  int64_t next_count_ns_ = 0;
};

class CpuProbe final : public Probe {
 public:
  explicit CpuProbe(ProbeContext& context)
      : context_(context), stat_(context.roots.proc + "/stat"), processes_(context.roots.proc) {
    const long hz = ::sysconf(_SC_CLK_TCK);
    ns_per_tick_ = kNsPerSec / (hz > 0 ? hz : 100);
  }

  void read(Reading& out) override {
    context_.facts.forks = -1;
    ProcStat stat;
    if (!read_stat(stat)) return;
    context_.facts.forks = stat.forks;
    if (context_.counts_processes)
      if (const auto count = processes_.get(out.stamp_ns)) out.set(processes, *count);
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
    if (!read_cores()) return;
    for (size_t i = 0; i < core_count_; ++i)
      detail.cores.push_back({ns(cores_[i].busy()), ns(cores_[i].total()), ns(cores_[i].idle), ns(cores_[i].iowait),
                              ns(cores_[i].steal), cores_[i].number});
  }

  std::vector<DeviceColumn> list_devices() override {
    if (!read_cores()) return {};
    places_.list(context_.roots, std::span(cores_).first(core_count_));
    return places_.columns();
  }

  void read_devices(std::span<DeviceValue> values) override {
    if (core_count_ <= cores_.size()) places_.fill(std::span(cores_).first(core_count_), values);
  }

 private:
  // The first time, and after a CPU came: reads again with room for all cores.
  bool read_cores() {
    wants_cores_ = true;
    ProcStat stat;
    while (core_count_ > cores_.size()) {
      cores_.resize(core_count_);
      if (!read_stat(stat)) return false;
    }
    return true;
  }

  bool read_stat(ProcStat& stat) {
    std::string_view text;
    core_count_ = 0;
    if (!stat_.read(context_.buffer, text)) return false;
    stat = parse_proc_stat(text, wants_cores_ ? std::span<CpuTicks>(cores_) : std::span<CpuTicks>());
    core_count_ = static_cast<size_t>(stat.cores);
    return true;
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
  KeptFile stat_;
  ProcessCount processes_;
  int64_t ns_per_tick_ = 0;
  int64_t idle_ = 0;
  int64_t iowait_ = 0;
  bool wants_cores_ = false;
  size_t core_count_ = 0;
  std::vector<CpuTicks> cores_;  // of the last reading; empty until an output wants them
  CorePlaces places_;
};

Status check(const Roots& roots) { return need_file(roots.proc + "/stat", kMountProcHint); }

}  // namespace

const ProbeInfo kCpuProbe = {"cpu",    ProbeDefault::on,     "CPU time, context switches and processes of the machine",
                             kColumns, make_probe<CpuProbe>, check};

}  // namespace tacho
