#include "engine/outcome.h"

#include <sys/wait.h>

#include <algorithm>

#include "base/units.h"
#include "base/writer.h"
#include "probe/tree/process_tree.h"
#include "procfs/cgroup_files.h"

namespace tacho {
namespace {

constexpr int64_t kWorthSayingNs = 10 * kNsPerMs;

// The machine's count of OOM kills (Linux 4.13); −1 when unknown.
int64_t oom_kills(const Roots& roots) {
  const auto text = read_whole_file(roots.proc + "/vmstat", 1 << 20);
  return text ? parse_keyed(*text, "oom_kill").value_or(-1) : -1;
}

// From when on the inherited clock knows, and what of it is an estimate.
std::string about_clock(const ProcessTree& tree) {
  Writer text;
  text.put(", begun after ");
  text.put_fixed(static_cast<double>(tree.clock_begun_after_ns()) / kNsPerSec, 3);
  text.put(" s");
  if (tree.clock_stolen_ns() >= kWorthSayingNs) {
    text.put("; it goes on while the hypervisor runs other guests: ");
    text.put_fixed(static_cast<double>(tree.clock_stolen_ns()) / kNsPerSec, 2);
    text.put(" s, the job's share of the machine's steal, were taken off");
  }
  return std::string(text.view());
}

std::optional<int64_t> whole(std::optional<double> value) {
  if (!value) return std::nullopt;
  return static_cast<int64_t>(*value);
}

// What no column has. Switches are known of what was reaped: all of a job's, once it has ended.
void fill_from_tree(Totals& totals, const ProcessTree& tree) {
  const Usage& used = tree.total();
  if (tree.virtual_peak_bytes() > 0) totals.virtual_peak_bytes = tree.virtual_peak_bytes();
  if (tree.uss_peak_bytes() > 0) totals.uss_peak_bytes = tree.uss_peak_bytes();
  if (tree.has_calls()) {
    totals.read_chars = used.read_chars;
    totals.write_chars = used.write_chars;
    totals.read_calls = used.read_calls;
    totals.write_calls = used.write_calls;
  }
  if (tree.reaped_switches() > 0) {
    totals.switches_voluntary = tree.reaped_voluntary();
    totals.switches_involuntary = tree.reaped_involuntary();
  }
}

}  // namespace

void OomWatch::begin(const Roots& roots) { kills_before_ = oom_kills(roots); }

void OomWatch::end(const ProbeContext& context, Run& run, const Summary& summary, bool own_cgroup,
                   std::string& note) const {
  const Statistics in_cgroup = summary.column("cgroup_oom_kills");
  if (kills_before_ < 0 && in_cgroup.rows == 0) return;
  const bool killed =
      run.outcome.exit_code == 128 + SIGKILL && !run.outcome.timed_out;  // also a shell that tells so of its child
  // The cgroup's own count comes first. The machine's may be of another container, so it counts only for a job that was
  // killed; the job may have moved into a cgroup that tacho does not watch.
  int64_t kills = in_cgroup.rows > 0 ? static_cast<int64_t>(in_cgroup.sum) : 0;
  if (kills > 0 && !own_cgroup && !killed) {
    const int64_t memory_bytes = context.limits.memory_limit_bytes.value_or(machine_memory_bytes(context.roots));
    const bool mostly_the_jobs = run.totals.memory_peak_bytes.value_or(0) >= memory_bytes / 2;
    const bool root_only = run.totals.processes_seen.value_or(2) <= 1 && run.outcome.exit_code.has_value();
    if (!mostly_the_jobs && !root_only) {
      note =
          "the kernel killed for want of memory in a cgroup that the job shares with others: whether it hit the job "
          "cannot be known";
      return;
    }
    if (!mostly_the_jobs) kills = 0;  // the job was one process, and that ended by itself
  }
  if (kills == 0 && killed && kills_before_ >= 0) kills = oom_kills(context.roots) - kills_before_;
  run.totals.oom_kills = kills;
  run.outcome.oom_killed = kills > 0;
}

void fill_outcome(Run& run, const Job& job, int exit_status) {
  Outcome& outcome = run.outcome;
  outcome.state = RunState::finished;
  if (!job.exit()) return;  // attached or watched: not our child, so no exit status
  const int status = job.exit()->status;
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.exit_code = outcome.timed_out ? exit_status : shell_status(status);
  if (*outcome.exit_code != 0) outcome.state = RunState::failed;
}

void TotalsKeeper::begin(const Schema& schema) {
  energy_.begin(schema);
  user_ = place_of(schema, "process_utime");
  system_ = place_of(schema, "process_stime");
  memory_ = place_of(schema, "process_memory_mib");
  read_ = place_of(schema, "process_disk_read_bytes");
  write_ = place_of(schema, "process_disk_write_bytes");
  cgroup_peak_ = place_of(schema, "cgroup_memory_peak_mib");
}

void TotalsKeeper::update(Run& run, const Summary& summary, const ProcessTree* tree,
                          const ProbeContext& context) const {
  energy_.update(run, summary, context.gpu_energy_method);
  if (tree == nullptr) return;
  Totals& totals = run.totals;
  totals.cpu_user_s = summary.sum(user_);
  totals.cpu_system_s = summary.sum(system_);
  totals.io_read_bytes = whole(summary.sum(read_));
  totals.io_write_bytes = whole(summary.sum(write_));
  totals.processes_seen = tree->processes_seen();
  fill_from_tree(totals, *tree);
  const int64_t largest = tree->largest_process_bytes();
  if (largest > 0) totals.largest_process_bytes = largest;
  const Statistics memory = summary.column(memory_);
  const int64_t sampled = memory_ != 0 && memory.rows > 0 ? static_cast<int64_t>(memory.max * kMiB) : 0;
  if (std::max(sampled, largest) > 0) totals.memory_peak_bytes = std::max(sampled, largest);
  // One that was seen before it had loaded anything and then ended: all that was resident was mapped.
  if (totals.virtual_peak_bytes)
    totals.virtual_peak_bytes = std::max(*totals.virtual_peak_bytes, totals.memory_peak_bytes.value_or(0));
  const Statistics cgroup_peak = summary.column(cgroup_peak_);
  if (cgroup_peak_ != 0 && cgroup_peak.rows > 0)
    totals.cgroup_memory_peak_bytes = static_cast<int64_t>(cgroup_peak.max * kMiB);
  const bool own_child = run.mode == kModeRun;
  const bool cgroup_tells =
      context.cgroup.job_only && !(context.cgroup.unified.empty() && context.cgroup.cpuacct.empty());
  run.method.cpu = cgroup_tells ? "cgroup" : own_child ? "subreaper" : "attach";
  run.method.memory = tree->memory().source;
  run.method.waits = context.waits_method;
  run.method.io = own_child ? "proc_io+rusage" : "proc_io";
}

void TotalsKeeper::close(Run& run, Summary& summary, const ProcessTree* tree, ProbeContext& context) const {
  update(run, summary, tree, context);
  if (tree == nullptr) return;
  if (tree->largest_process_bytes() > 0)
    summary.raise_max("process_memory_mib", static_cast<double>(tree->largest_process_bytes()) / kMiB);
  if (tree->lost_some())
    context.note(
        "some children were reaped by the kernel itself (their parent ignores SIGCHLD): their usage is as last seen" +
        std::string(context.cgroup.job_only ? "; CPU time is exact by the cgroup"
                    : tree->has_clock()     ? "; CPU time is by a clock that they inherit" + about_clock(*tree)
                                            : ""));
  else if (tree->has_clock())
    context.note("a process of the job ignores SIGCHLD: CPU time is by a clock that its children inherit" +
                 about_clock(*tree));
  if (tree->unwaited() > 0 && !context.cgroup.job_only && !tree->has_clock())
    context.note("what " + std::to_string(tree->unwaited()) + (tree->unwaited() == 1 ? " process" : " processes") +
                 " used after the last reading, at most an interval before the end, is not known: whoever waited for "
                 "it is no process of the job");
  if (tree->fell_back_to_rss())
    context.note("the memory of some processes is their resident size (PSS was not readable or over its time budget)");
  if (tree->is_alone() && tree->has_io())
    context.note("process_disk_* hold what ended children read and wrote too: the kernel adds it to their parent's");
  if (!tree->has_io()) context.note("the job's I/O counters could not be read: process_disk_* are empty");
}

int64_t machine_memory_bytes(const Roots& roots) {
  const auto text = read_whole_file(roots.proc + "/meminfo", 1 << 20);
  if (!text) return 0;
  const auto kib = parse_keyed(*text, "MemTotal:");
  return kib ? *kib * 1024 : 0;
}

std::string cgroup_folder(const CgroupPaths& paths) {
  for (const std::string* folder :
       {&paths.unified, &paths.cpuacct, &paths.memory, &paths.cpu, &paths.blkio, &paths.cpuset})
    if (!folder->empty()) return *folder;
  return {};
}

}  // namespace tacho
