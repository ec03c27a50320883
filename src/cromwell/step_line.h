// Where a person looks on, one line on stderr that tells what is being done: large tables and workflows take minutes.
// Not thread-safe.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/log.h"
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

  // A new step is shown at once, however soon it comes: the next word may be minutes away. How far it is comes often.
  void show(const std::string& step, const std::string& how_far = "") {
    if (!shown_) return;
    const int64_t now_ns = system_clock().monotonic_ns();
    if (step == step_ && now_ns < next_ns_) return;
    step_ = step;
    next_ns_ = now_ns + 100 * kNsPerMs;
    const std::string line = how_far.empty() ? step : step + ": " + how_far;
    std::fprintf(stderr, "\r\x1b[Ktacho: %s", harmless_text(line.substr(0, 70)).c_str());
    log::unfinished_line(true);
    written_ = true;
  }
  // Before anything else is printed.
  void clear() {
    if (written_) std::fputs("\r\x1b[K", stderr);
    log::unfinished_line(false);
    written_ = false;
    step_.clear();
  }

 private:
  bool shown_, written_ = false;
  std::string step_;
  int64_t next_ns_ = 0;
};

}  // namespace tacho
