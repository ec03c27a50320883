// Time, behind an interface so that a test can replay a million ticks in seconds. Thread-safe.
#pragma once
#include <poll.h>

#include <cstdint>
#include <span>

namespace tacho {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t monotonic_ns() = 0;
  virtual int64_t realtime_ns() = 0;
  // Sleeps until the monotonic deadline or until one of fds is ready; returns the number of ready ones (0: deadline).
  virtual int wait(std::span<pollfd> fds, int64_t deadline_ns) = 0;
};

// The machine's clock. CLOCK_MONOTONIC stands still during suspend: no burst of ticks afterwards.
Clock& system_clock();

// CPU time of the calling thread.
int64_t thread_cpu_ns();

}  // namespace tacho
