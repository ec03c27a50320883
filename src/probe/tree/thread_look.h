// One look at a thread: which state it is in, by /proc/PID/task/TID/syscall where that may be read, else by stat and
// wchan. Descriptors are looked up in /proc/PID/fd, what poll and select wait for in the job's memory. Nothing is
// written anywhere, nothing is stopped. Not thread-safe; in a steady tick it allocates nothing.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "os/fd.h"
#include "os/file.h"
#include "probe/tree/wait_rules.h"

namespace tacho {

// A thread and what is remembered of it.
struct LookedThread {
  explicit LookedThread(pid_t number) : tid(number) {}
  pid_t tid;
  Fd syscall_fd;
  bool looked = false;
  uint32_t ran_tick = 0;  // of its process, when it was looked at
  WaitState state = WaitState::other;
  // What the descriptors of a call turned out to be, for as long as it is the same call on the same ones.
  int64_t call = -1;
  uint64_t first = 0, second = 0;
  WaitState told = WaitState::other;
  uint8_t repeats = 0;
};

class ThreadLook {
 public:
  ThreadLook(std::string proc, ReadBuffer& buffer);

  // Nothing: the thread is gone. keep: its descriptor may stay open.
  std::optional<WaitState> look(pid_t pid, LookedThread& thread, bool keep);
  int64_t by_syscall() const { return by_syscall_; }  // looks so far, either way
  int64_t by_wchan() const { return by_wchan_; }
  int proc_fd() const { return proc_fd_.get(); }

 private:
  WaitState by_descriptors(pid_t pid, LookedThread& thread, const ThreadSyscall& call, const CallMeaning& meaning);
  std::optional<WaitState> state_of_descriptor(pid_t pid, pid_t tid, int number);
  void add_polled(pid_t pid, const ThreadSyscall& call, FdSet& set, bool& readable);
  void add_selected(pid_t pid, const ThreadSyscall& call, FdSet& set, bool& readable);
  void add_watched(pid_t pid, int epoll, FdSet& set, bool& readable);
  WaitState by_wchan(pid_t pid, pid_t tid, bool with_socket);
  char state_letter(pid_t pid, pid_t tid);
  FdKind kind_of(pid_t pid, int number) const;

  std::string proc_;
  Fd proc_fd_;
  ReadBuffer& buffer_;
  int64_t by_syscall_ = 0, by_wchan_ = 0;
  bool has_name_ = false;  // the last wchan that was read
};

}  // namespace tacho
