#include "os/clock.h"

#include <algorithm>
#include <ctime>

#include "base/units.h"
#include "os/timespec.h"

namespace tacho {
namespace {

int64_t read_clock(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return as_ns(now);
}

class SystemClock final : public Clock {
 public:
  int64_t monotonic_ns() override { return read_clock(CLOCK_MONOTONIC); }
  int64_t realtime_ns() override { return read_clock(CLOCK_REALTIME); }
  int wait(std::span<pollfd> fds, int64_t deadline_ns) override {
    const int64_t left = std::max<int64_t>(0, deadline_ns - monotonic_ns());
    const timespec timeout{static_cast<time_t>(left / kNsPerSec), static_cast<long>(left % kNsPerSec)};
    const int ready = ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
    return ready < 0 ? 0 : ready;
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock& clock =
      *new SystemClock;  // never destroyed: a thread that nobody joins may ask it while the program ends
  return clock;
}

int64_t thread_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace tacho
