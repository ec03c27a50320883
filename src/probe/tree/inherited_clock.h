// CPU time of a set of processes and of all that they fork from now on, however they are reaped: a perf task clock that
// children inherit (perf_event_open(2)). Every switch of these processes then costs the kernel some 0.6 µs more, so it
// is for jobs whose time is known by no other way. Misses what a process spends on its own end, some 30 µs. Not
// thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "os/perf_counter.h"

namespace tacho {

class InheritedClock {
 public:
  // Adds a process, with all its threads. Fails where the kernel forbids it (kernel.perf_event_paranoid, seccomp).
  Status add(int proc_fd, pid_t pid);
  // Those of the other as well. False when they are too many.
  bool take(InheritedClock&& other);
  bool running() const { return !threads_.empty(); }
  std::optional<int64_t> read_ns() const;  // since each of them was added

 private:
  std::vector<PerfCounter> threads_;
};

}  // namespace tacho
