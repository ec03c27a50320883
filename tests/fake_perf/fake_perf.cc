// A stand-in for a machine's performance counters, for LD_PRELOAD: perf_event_open(2) gives a descriptor whose readings
// grow by a fixed step, as if the event were counted half of the time. What was asked for is appended to the file that
// FAKE_PERF_LOG names, a line an event: TYPE CONFIG in hexadecimal. Steps: FAKE_PERF, "TYPE:CONFIG=STEP,…", else 1000.
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kReadings = 100;

uint64_t step_of(uint32_t type, uint64_t config) {
  char key[40];
  std::snprintf(key, sizeof key, "%x:%llx=", type, static_cast<unsigned long long>(config));
  const char* steps = std::getenv("FAKE_PERF");
  const char* found = steps != nullptr ? std::strstr(steps, key) : nullptr;
  return found != nullptr ? std::strtoull(found + std::strlen(key), nullptr, 10) : 1000;
}

int open_fake(const perf_event_attr& event) {
  if (const char* path = std::getenv("FAKE_PERF_LOG")) {
    FILE* log = std::fopen(path, "a");
    if (log != nullptr) std::fprintf(log, "%x %llx\n", event.type, static_cast<unsigned long long>(event.config));
    if (log != nullptr) std::fclose(log);
  }
  // A reading is a packet: value, time enabled, time on the hardware.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return -1;
  const uint64_t step = step_of(event.type, event.config);
  for (uint64_t i = 1; i <= kReadings; ++i) {
    const uint64_t reading[3] = {step * i, 2000 * i, 1000 * i};
    if (send(ends[1], reading, sizeof reading, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
  }
  close(ends[1]);
  return ends[0];
}

}  // namespace

extern "C" long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_perf_event_open) return open_fake(*reinterpret_cast<const perf_event_attr*>(arguments[0]));
  using Syscall = long (*)(long, ...);
  static const auto real = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
