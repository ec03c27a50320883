// One counter of perf_event_open(2), counting a process and everything it forks, or one CPU.
// Counters that share the hardware by turns are scaled by the time they were on. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

struct PerfEvent {
  uint32_t type;
  uint64_t config;
};

// The generic events (linux/perf_event.h).
inline constexpr PerfEvent kPerfCycles{0, 0};
inline constexpr PerfEvent kPerfInstructions{0, 1};
inline constexpr PerfEvent kPerfTaskClock{1, 1};
inline constexpr PerfEvent kPerfL1Loads{3, 0x00000}, kPerfL1Misses{3, 0x10000};
inline constexpr PerfEvent kPerfLastLevelLoads{3, 0x00002}, kPerfLastLevelMisses{3, 0x10002};
inline constexpr PerfEvent kPerfTlbLoads{3, 0x00003}, kPerfTlbMisses{3, 0x10003};

class PerfCounter {
 public:
  PerfCounter() = default;
  // Disabled until pid runs exec; inherited by its children. User space only where the kernel does not allow more.
  static Result<PerfCounter> on_next_exec(PerfEvent event, pid_t pid);
  // One thread and all that it forks, from now on.
  static Result<PerfCounter> on_thread(PerfEvent event, pid_t thread);
  // All that runs on one CPU, from now on; needs CAP_PERFMON.
  static Result<PerfCounter> on_cpu(PerfEvent event, int cpu);

  bool is_open() const { return static_cast<bool>(fd_); }
  std::optional<int64_t> read() const;  // scaled; nothing while it never ran

 private:
  explicit PerfCounter(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace tacho
