// How ProcessTree knows the ends of processes where the kernel tells of them (--probe exits): what a member used in the
// end though a stranger waited for it, and who lived between two ticks.
#include <algorithm>
#include <utility>

#include "os/process.h"
#include "probe/tree/exit_records.h"
#include "probe/tree/process_observer.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr int kMostGenerations = 32;  // of processes that lived between two ticks

}  // namespace

void ProcessTree::listen(std::unique_ptr<ExitRecords> exits) { exits_ = std::move(exits); }

// The kernel tells before anybody can reap the process, so that it has told by now.
ProcessEnd ProcessTree::end_of(const Member& gone) {
  ProcessEnd end;
  end.cpu_ns = gone.own_cpu_ns();
  if (!exits_) return end;
  exits_->collect();
  const auto told = exits_->take(gone.pid(), gone.start_time());
  if (!told) return end;
  end.status = told->status;
  end.cpu_ns = gone.own_cpu_ns_at(told->cpu_ns);
  end.peak_bytes = told->peak_bytes;
  end.is_told = true;
  end.name = told->name;
  return end;
}

void ProcessTree::note_end(pid_t pid, int64_t own_ns) {
  ended_own_ns_ += own_ns;
  ++processes_ended_;
  if (exits_) ended_pids_.push_back(pid);
}

void ProcessTree::forget_end_of(pid_t pid) {
  if (!exits_) return;
  exits_->collect();
  exits_->take(pid, contains(pid) ? member(pid)->start_time() : 0);
}

bool ProcessTree::is_of_job(const TaskExit& exit) const {
  if (std::find(excluded_.begin(), excluded_.end(), exit.process) != excluded_.end()) return false;
  if (own_child_ && exit.parent == own_pid_) return true;
  return contains(exit.parent) || std::binary_search(ended_pids_.begin(), ended_pids_.end(), exit.parent);
}

// Who is still there is a member, or is found in its parent's list until the next tick; after that the number is a
// stranger's.
bool ProcessTree::is_there(const EndedProcess& ended) const {
  if (const Member* same = member(ended.exit.process)) return ended.was_started_at(same->start_time());
  return exits_->is_new(ended) && process_cpu_ns(ended.exit.process) >= 0;
}

// Whose parent is, or was in this tick, of the job; the parent's own end may be told after its child's.
void ProcessTree::name_short_lived() {
  if (!exits_) return;
  exits_->collect();
  std::sort(ended_pids_.begin(), ended_pids_.end());
  bool found = !alone_;
  for (int generation = 0; found && generation < kMostGenerations; ++generation) {
    found = false;
    for (EndedProcess& ended : exits_->processes()) {
      if (ended.of_job || !is_of_job(ended.exit) || is_there(ended)) continue;
      ended.of_job = found = true;
      ++processes_seen_;
      ended_own_ns_ += ended.exit.cpu_ns;
      ++processes_ended_;
      ended_pids_.insert(std::upper_bound(ended_pids_.begin(), ended_pids_.end(), ended.exit.process),
                         ended.exit.process);
      if (observer_ != nullptr) observer_->passed(ended.exit);
    }
  }
  ended_pids_.clear();
  exits_->end_tick();
  if (exits_->lost_some())
    context_.note(
        "more processes ended on this machine in an interval than can be told of: some that lived between two ticks "
        "have no line of their own");
}

}  // namespace tacho
