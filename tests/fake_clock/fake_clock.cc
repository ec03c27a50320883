// A machine's clock that is set while programs run, for LD_PRELOAD: the time of day is what the kernel says and as many
// nanoseconds as the first eight bytes of the file FAKE_CLOCK hold, looked at each time. All other clocks go on.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kSecond = 1'000'000'000;

const volatile int64_t* map_step() {
  static const int64_t none = 0;
  const char* path = std::getenv("FAKE_CLOCK");
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &none;
  void* page = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? &none : static_cast<const volatile int64_t*>(page);
}

int64_t step_ns() {
  static const volatile int64_t* const step = map_step();
  return *step;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
  const int64_t now_ns = time->tv_sec * kSecond + time->tv_nsec + step_ns();
  *time = {static_cast<time_t>(now_ns / kSecond), static_cast<long>(now_ns % kSecond)};
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* time) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (time != nullptr) *time = now.tv_sec;
  return now.tv_sec;
}
}
