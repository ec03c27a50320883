// What the burners share: loads that are measured on the CPU clock, never on the wall, and the truth that each of them
// prints as one JSON line when it ends. A burner is exact about itself, so that tacho can be held against it.
// Thread-safe but for Truth. Relies on CLOCK_THREAD_CPUTIME_ID, getrusage(2) and /proc/self/io (Linux 2.6.20).
#pragma once
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace tacho::burner {

inline int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// User time: arithmetic in batches, so that asking the clock (a system call) stays below a hundredth of it.
inline void burn_user_us(int64_t us) {
  const int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
  volatile uint64_t value = 88172645463325252ULL;
  do {
    uint64_t x = value;
    for (int i = 0; i < 20'000; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
    }
    value = x;
  } while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

// System time: reads of /dev/zero, which the kernel fills.
inline void burn_system_us(int64_t us) {
  FILE* zero = std::fopen("/dev/zero", "r");
  if (zero == nullptr) std::exit(2);
  static thread_local char block[1 << 16];
  const int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
  do {
    for (int i = 0; i < 32; ++i) {
      if (read(fileno(zero), block, sizeof block) < 0) std::exit(2);
    }
  } while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
  std::fclose(zero);
}

inline void sleep_ms(int64_t ms) {
  timespec left{ms / 1000, ms % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0) {}
}

// The i-th argument as a number.
inline int64_t number(int argc, char** argv, int i, int64_t otherwise) {
  return i < argc ? std::strtoll(argv[i], nullptr, 10) : otherwise;
}

inline double seconds(const timeval& value) {
  return static_cast<double>(value.tv_sec) + static_cast<double>(value.tv_usec) * 1e-6;
}

// CPU time of processes that no parent waits for (daemons, children reaped by the kernel): shared memory that each of
// them adds its own to, as the last thing it does.
struct Ledger {
  std::atomic<int64_t> user_us, system_us, processes, alive;
  void add_self() {
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    user_us += int64_t{own.ru_utime.tv_sec} * 1'000'000 + own.ru_utime.tv_usec;
    system_us += int64_t{own.ru_stime.tv_sec} * 1'000'000 + own.ru_stime.tv_usec;
    ++processes;
  }
};

inline Ledger* shared_ledger() {
  void* page = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) std::exit(2);
  return new (page) Ledger{};
}

inline std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The JSON line: rusage of itself and of reaped children, the ledger, and what the burner adds.
class Truth {
 public:
  explicit Truth(const char* burner) { text_ = "{\"burner\":" + json_string(burner); }
  void add(const char* key, int64_t value) { raw(key, std::to_string(value)); }
  void add(const char* key, std::string_view value) { raw(key, json_string(value)); }
  void raw(const char* key, const std::string& json) { text_ += "," + json_string(key) + ":" + json; }

  void add_usage(const Ledger* ledger = nullptr) {
    rusage self{}, children{};
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    double user = seconds(self.ru_utime) + seconds(children.ru_utime);
    double system = seconds(self.ru_stime) + seconds(children.ru_stime);
    if (ledger != nullptr) {
      user += static_cast<double>(ledger->user_us) * 1e-6;
      system += static_cast<double>(ledger->system_us) * 1e-6;
      add("ledger_processes", ledger->processes.load());
    }
    add_seconds("user_s", user);
    add_seconds("system_s", system);
    add_seconds("self_s", seconds(self.ru_utime) + seconds(self.ru_stime));
    add_seconds("children_s", seconds(children.ru_utime) + seconds(children.ru_stime));
    add("max_rss_kib", self.ru_maxrss);
  }
  void add_seconds(const char* key, double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6f", value);
    raw(key, text);
  }
  void print(FILE* out = stdout) {
    std::fprintf(out, "%s}\n", text_.c_str());
    std::fflush(out);
  }

 private:
  std::string text_;
};

// The common end: usage, then the line.
inline int finish(const char* burner, const Ledger* ledger = nullptr) {
  Truth truth(burner);
  truth.add_usage(ledger);
  truth.print();
  return 0;
}

inline void wait_all() {
  while (wait(nullptr) > 0) {}
}

inline std::string self_path() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size <= 0) std::exit(2);
  return {path, static_cast<size_t>(size)};
}

}  // namespace tacho::burner
