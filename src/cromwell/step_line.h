// Where a person looks on, one line on stderr that tells what is being done: large tables and workflows take minutes.
// Not thread-safe.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {

class StepLine {
 public:
  explicit StepLine(bool wanted) : shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}
  ~StepLine() { clear(); }
  StepLine(const StepLine&) = delete;
  StepLine& operator=(const StepLine&) = delete;

  void show(const std::string& step) {
    const int64_t now_ns = system_clock().monotonic_ns();
    if (!shown_ || now_ns < next_ns_) return;
    next_ns_ = now_ns + 100 * kNsPerMs;
    std::fprintf(stderr, "\r\x1b[Ktacho: %s", harmless_text(step.substr(0, 70)).c_str());
    written_ = true;
  }
  // Before anything else is printed.
  void clear() {
    if (written_) std::fputs("\r\x1b[K", stderr);
    written_ = false;
  }

 private:
  bool shown_, written_ = false;
  int64_t next_ns_ = 0;
};

}  // namespace tacho
