// What a process tree tells of a process that tacho reaps, to who observes it.
#include <algorithm>
#include <utility>

#include "probe/tree/process_observer.h"
#include "probe/tree/process_tree.h"

namespace tacho {

void ProcessTree::ending(pid_t pid) {
  if (std::find(excluded_.begin(), excluded_.end(), pid) != excluded_.end()) return;
  ending_pid_ = pid;
  ending_ = {};
  unseen_.reset();
  Member* member = find(pid);
  if (member == nullptr) {
    // Not a member: the sums go on as they would, and the time of its children comes along with its rusage.
    unseen_.emplace(pid);
    if (!unseen_->open(proc_fd_.get(), context_.buffer, false)) return unseen_.reset();
    member = &*unseen_;
  }
  ending_ = member->look_at_end(proc_fd_.get(), context_.buffer);
}

// What rusage does not tell: what it, and the children that it waited for, asked of the kernel.
void ProcessTree::take_calls(pid_t pid, Usage& usage) {
  const Member* const member = this->member(pid);
  PidIoCalls calls;
  if (ending_pid_ == pid) calls = ending_.calls;
  else if (member != nullptr) calls = member->calls();
  add_calls(usage, calls);
  calls_seen_ = calls_seen_ || calls.known;
}

void ProcessTree::tell_reaped(pid_t pid, const rusage& usage, int status) {
  const bool looked = std::exchange(ending_pid_, 0) == pid;
  const bool is_new = looked && unseen_;
  Member* const member = is_new ? &*unseen_ : find(pid);
  if (member == nullptr) return;
  ProcessEnd end;
  end.status = status;
  if (looked) {
    end.cpu_ns = ending_.cpu_ns;
    if (ending_.has_io) end.read_bytes = ending_.io.read_bytes, end.write_bytes = ending_.io.write_bytes;
    if (!ending_.reaped_children) {  // what wait4 tells is its own
      const int64_t peak = usage.ru_maxrss * 1024;
      if ((pid == root_ || is_new) && peak > spawn_floor_bytes_) end.peak_bytes = peak;
      if (!ending_.has_io && io_available_) {
        end.read_bytes = usage.ru_inblock * 512;
        end.write_bytes = usage.ru_oublock * 512;
      }
    }
  }
  if (is_new) observer_->came(*member);
  observer_->ended(*member, end);
  unseen_.reset();
}

}  // namespace tacho
