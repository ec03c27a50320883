// The job's processes as columns 22–29 and their extended ones. CPU time comes from the job's own cgroup when it has
// one, else from the tree (process_tree.h); both are cumulative, and never added.
#include "probe/process.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "probe/kit/cpuacct.h"
#include "probe/kit/scales.h"
#include "probe/tree/cgroup_leavers.h"
#include "probe/tree/process_tree.h"
#include "procfs/cgroup_files.h"

namespace tacho {
namespace {

enum Field : size_t {
  kPid,
  kChildren,
  kUser,
  kSystem,
  kCpu,
  kMemory,
  kRead,
  kWritten,
  kMajorFaults,
  kIowait,
  kThreads,
  kMinorFaults
};

constexpr Column kColumns[] = {
    {22, "process_pid", "pid", 0, Rule::level, kPid, 1, "Root of the tracked process tree."},
    {23, "process_children", "count", 0, Rule::level, kChildren, 1, "Live descendants of the root, zombies left out."},
    {24, "process_utime", "s", 4, Rule::delta, kUser, kToSeconds, "User CPU time of the job in this interval."},
    {25, "process_stime", "s", 4, Rule::delta, kSystem, kToSeconds, "System CPU time of the job in this interval."},
    {26, "process_cpu_usage", "cores", 4, Rule::rate, kCpu, kToSeconds, "CPU cores that the job kept busy."},
    {27, "process_memory_mib", "MiB", 3, Rule::level, kMemory, kToMiB,
     "Memory of the job: proportional (PSS) within a time budget, else resident (RSS)."},
    {28, "process_disk_read_bytes", "bytes", 0, Rule::delta, kRead, 1,
     "Bytes that the job read from storage in this interval."},
    {29, "process_disk_write_bytes", "bytes", 0, Rule::delta, kWritten, 1,
     "Bytes that the job wrote to storage in this interval."},
    {122, "process_major_page_faults", "count", 0, Rule::delta, kMajorFaults, 1,
     "Page faults of the job that had to read from storage."},
    {124, "process_iowait", "s", 4, Rule::delta, kIowait, kToSeconds,
     "Time the job waited for block I/O; needs kernel.task_delayacct=1."},
    {270, "process_threads", "count", 0, Rule::level, kThreads, 1, "Threads of the job, zombies left out."},
    {271, "process_minor_page_faults", "count", 0, Rule::delta, kMinorFaults, 1,
     "Page faults of the job that needed no reading from storage."},
};

class ProcessProbe final : public Probe {
 public:
  explicit ProcessProbe(ProbeContext& context)
      : context_(context), tree_(*context.tree), leavers_(context.cgroup.unified) {
    const CgroupPaths& cgroup = context.cgroup;
    if (cgroup.job_only && !cgroup.unified.empty()) {
      cpu_stat_ = KeptFile(cgroup.unified + "/cpu.stat");
    } else if (cgroup.job_only && !cgroup.cpuacct.empty()) {
      cpuacct_ = Cpuacct(cgroup.cpuacct);
    }
    delay_accounting_ = read_first_line(context.roots.proc + "/sys/kernel/task_delayacct") == "1";
  }

  void read(Reading& out) override {
    const int64_t begun_ns = system_clock().monotonic_ns();
    const bool attaches = tree_.is_followed() && !tree_.is_own_child();
    if (!std::exchange(begun_, true) && attaches) tree_.begin(out.stamp_ns);
    else tree_.update(out.stamp_ns);
    if (tree_.root() > 0) out.set(kPid, tree_.root());
    if (tree_.sees_processes()) {
      out.set(kChildren, tree_.children());
      out.set(kThreads, tree_.threads());
    }
    const Usage& total = tree_.total();
    int64_t user_ns = total.user_ns, system_ns = total.system_ns;
    const bool told = read_cgroup_cpu(user_ns, system_ns);
    const bool exact = told && stayed_in_cgroup(out.stamp_ns, user_ns, system_ns);
    // A cgroup that cannot be read for once leaves a gap: the tree's sum is another one, and the difference would be
    // counted.
    const bool failed = !told && reads_cgroup() && !give_up_cgroup();
    // A tree that forks without end takes a while to look through, and that of an attached job was read when it was
    // followed: the time of this reading is that of the sum.
    if (exact) out.stamp_ns += system_clock().monotonic_ns() - begun_ns;
    else out.stamp_ns += tree_.clocks_ns() - begun_ns;
    if (cgroup_user_ns_ + cgroup_system_ns_ > 0) go_on_from_cgroup(user_ns, system_ns);
    if (!failed && (exact || tree_.readable())) {
      out.set(kUser, user_ns);
      out.set(kSystem, system_ns);
      out.set(kCpu, user_ns + system_ns);
    }
    if (tree_.readable()) {
      out.set(kMajorFaults, total.major_faults);
      out.set(kMinorFaults, total.minor_faults);
      if (delay_accounting_) out.set(kIowait, total.iowait_ns);
      if (tree_.has_io()) {
        out.set(kRead, total.read_bytes);
        out.set(kWritten, total.write_bytes);
      }
    }
    // A job too short to be seen has only the high-water mark that it left.
    const int64_t memory = tree_.memory().bytes > 0 ? tree_.memory().bytes : tree_.largest_process_bytes();
    if (memory > 0) out.set(kMemory, memory);
  }

  void describe(Detail& detail) override {
    const TreeMemory& memory = tree_.memory();
    if (memory.rss_bytes <= 0) {
      // As in read(): a job too short to be seen left a high-water mark.
      if (tree_.largest_process_bytes() <= 0) return;
      detail.process_rss_bytes = static_cast<double>(tree_.largest_process_bytes());
      detail.process_memory_source = "rss";
      return;
    }
    detail.process_rss_bytes = static_cast<double>(memory.rss_bytes);
    if (std::string_view(memory.source) != "rss") detail.process_pss_bytes = static_cast<double>(memory.pss_bytes);
    detail.process_memory_source = memory.source;
  }

 private:
  bool read_cgroup_cpu(int64_t& user_ns, int64_t& system_ns) {
    if (!context_.cgroup.job_only) return false;  // the job could not be started in its cgroup
    std::string_view text;
    if (!cpu_stat_.path().empty()) {
      if (!cpu_stat_.read(context_.buffer, text)) return false;
      TickFacts& facts = context_.facts;
      parse_cpu_stat(text, facts.cgroup_user_us, facts.cgroup_system_us, facts.cgroup_throttled_us,
                     facts.cgroup_throttled_periods);
      if (facts.cgroup_user_us < 0 || facts.cgroup_system_us < 0) return false;
      user_ns = facts.cgroup_user_us * kNsPerUs;
      system_ns = facts.cgroup_system_us * kNsPerUs;
    } else if (!cpuacct_.read(context_.buffer, user_ns, system_ns)) {
      return false;
    }
    last_user_ns_ = user_ns;
    last_system_ns_ = system_ns;
    failures_ = 0;
    return true;
  }

  bool reads_cgroup() const { return context_.cgroup.job_only && last_user_ns_ >= 0; }

  // After some failures in a row, or when there is no next time; then the tree goes on from what the cgroup told last.
  bool give_up_cgroup() {
    if (++failures_ < kMostFailures && !context_.facts.closing) return false;
    context_.cgroup.job_only = false;
    context_.note(
        "the cgroup that was made for the job can no longer be read: CPU time is summed over its process tree");
    cgroup_user_ns_ = last_user_ns_;
    cgroup_system_ns_ = last_system_ns_;
    return true;
  }

  // Where processes left the job's cgroup, the tree is summed from now on; user_ns and system_ns become its sums.
  bool stayed_in_cgroup(int64_t now_ns, int64_t& user_ns, int64_t& system_ns) {
    const Usage& total = tree_.total();
    if (!tree_.is_own_child() || cpu_stat_.path().empty()) return true;
    if (!leavers_.found(context_, now_ns, user_ns + system_ns, total.cpu_ns())) return true;
    context_.cgroup.job_only = false;
    context_.note(
        "processes of the job left the cgroup that was made for it: CPU time is summed over its process tree");
    cgroup_user_ns_ = user_ns;
    cgroup_system_ns_ = system_ns;
    user_ns = total.user_ns;
    system_ns = total.system_ns;
    return false;
  }

  // What was said while the cgroup told stands: neither of both times falls.
  void go_on_from_cgroup(int64_t& user_ns, int64_t& system_ns) const {
    const int64_t sum_ns = std::max(user_ns + system_ns, cgroup_user_ns_ + cgroup_system_ns_);
    user_ns = std::clamp(user_ns, cgroup_user_ns_, sum_ns - cgroup_system_ns_);
    system_ns = sum_ns - user_ns;
  }

  ProbeContext& context_;
  ProcessTree& tree_;
  CgroupLeavers leavers_;
  int64_t cgroup_user_ns_ = 0, cgroup_system_ns_ = 0;  // when the cgroup was given up
  static constexpr int kMostFailures = 3;
  int failures_ = 0;                                 // of reading it, in a row
  int64_t last_user_ns_ = -1, last_system_ns_ = -1;  // as it told last; −1: never
  KeptFile cpu_stat_;
  Cpuacct cpuacct_;
  bool begun_ = false, delay_accounting_ = false;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  if (context.tree == nullptr) return Error{Code::not_available, "no process is tracked", "", ""};
  return std::unique_ptr<Probe>(std::make_unique<ProcessProbe>(context));
}

Status check(const Roots& roots) {
  if (file_exists(roots.proc + "/self/stat")) return ok();
  return Error{Code::not_available, "no process files", roots.proc + "/self/stat", "mount /proc"};
}

}  // namespace

constinit const ProbeInfo kProcessProbe{
    "process", ProbeDefault::on, "the job's process tree: CPU, memory, disk", kColumns, make, check};

}  // namespace tacho
