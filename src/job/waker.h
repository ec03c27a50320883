// Whoever stops with the job has to be woken when the job goes on or ends without him: somebody continues the job
// alone, or kills it while it is stopped, and a stopped process hears of neither. The waker is a small process of our
// own that looks at the job's state (/proc/PID/stat) ten times a second while we are stopped, and continues us. In a
// session of its own, without descriptors; the kernel kills it with us. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace tacho {

class Waker {
 public:
  // Right before we stop. wake_at_ns (CLOCK_MONOTONIC): continues us then in any case. Without a /proc nobody is
  // started.
  Waker(pid_t job, int64_t wake_at_ns);
  ~Waker();  // we run again: it ends
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  pid_t pid() const { return pid_; }  // 0: there is none

 private:
  pid_t pid_ = 0;
};

// Whether a process is stopped now, by job control or by a tracer; false when it is gone.
bool is_stopped(pid_t pid);

}  // namespace tacho
