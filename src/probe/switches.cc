// Context switches of the job. /proc/PID/status has the leading thread's number only, so every thread is read: a cost
// that grows with the threads, hence off by default. What ended threads did is known only when tacho reaps their
// process.
#include "probe/switches.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "os/directory.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr Column kColumns[] = {
    {123, "process_ctxt_switches", "count", 0, Rule::delta, 0, 1,
     "Context switches of the job's threads, voluntary and not, in this interval."},
};

class SwitchesProbe final : public Probe {
 public:
  explicit SwitchesProbe(ProbeContext& context)
      : context_(context), proc_(::open(context.roots.proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  void read(Reading& out) override {
    if (!context_.tree->readable()) return;
    context_.tree->copy(pids_);
    int64_t sum = context_.tree->reaped_switches();
    for (const pid_t pid : pids_) sum += of_process(pid);
    highest_ = std::max(highest_, sum);
    out.set(0, highest_);
  }

 private:
  int64_t of_process(pid_t pid) {
    std::array<char, 48> path{};
    std::snprintf(path.data(), path.size(), "%d/task", static_cast<int>(pid));
    const Fd tasks(::openat(proc_.get(), path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tasks) return 0;
    int64_t sum = 0;
    NumericEntries threads(tasks.get());
    for (int tid = 0; threads.next(tid);) {
      std::snprintf(path.data(), path.size(), "%d/status", tid);
      std::string_view text;
      PidStatus status;
      if (context_.buffer.read_at(tasks.get(), path.data(), text) && parse_pid_status(text, status))
        sum += status.context_switches.value_or(0);
    }
    return sum;
  }

  ProbeContext& context_;
  Fd proc_;
  std::vector<pid_t> pids_;
  int64_t highest_ = 0;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  if (context.tree == nullptr) return Error{Code::not_available, "no process is tracked", "", ""};
  return std::unique_ptr<Probe>(std::make_unique<SwitchesProbe>(context));
}

Status check(const Roots& roots) {
  if (file_exists(roots.proc + "/self/task")) return ok();
  return Error{Code::not_available, "no thread files", roots.proc + "/self/task", "mount /proc"};
}

}  // namespace

constinit const ProbeInfo kSwitchesProbe{
    "switches", ProbeDefault::off, "context switches of the job's threads", kColumns, make, check};

}  // namespace tacho
