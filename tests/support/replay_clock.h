// A clock that jumps from deadline to deadline and, after so many ticks, sends this process SIGTERM: replays days in
// seconds.
#pragma once
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <functional>

#include "os/clock.h"

namespace tacho {

class ReplayClock final : public Clock {
 public:
  explicit ReplayClock(int64_t ticks) : ticks_left_(ticks) {}
  int64_t monotonic_ns() override { return mono_ns_; }
  int64_t realtime_ns() override { return real_ns_; }
  int wait(std::span<pollfd> fds, int64_t deadline_ns) override {
    if (ticks_left_-- <= 0) {
      ::kill(::getpid(), SIGTERM);
      return ::poll(fds.data(), fds.size(), 1000);
    }
    const int64_t pause_ns = --sleep_in_ == 0 ? sleep_ns_ : 0;
    const int64_t step_ns = std::max<int64_t>(0, deadline_ns - mono_ns_) + pause_ns;
    mono_ns_ += step_ns;
    real_ns_ += step_ns;
    if (on_tick) on_tick();
    return 0;
  }
  void sleep_after(int64_t ticks, int64_t ns) { sleep_in_ = ticks, sleep_ns_ = ns; }
  std::function<void()> on_tick;

 private:
  int64_t ticks_left_, sleep_in_ = 0, sleep_ns_ = 0;
  int64_t mono_ns_ = 1'000'000'000, real_ns_ = 1'800'000'000'000'000'000;
};

}  // namespace tacho
