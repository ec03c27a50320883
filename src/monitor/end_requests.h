// Who asks a task monitor to end, and whether somebody insists, so that it does not wait for its rows any longer. The
// end of a task may show in several ways at once: its parent is gone, the terminal hangs up, and a clean-up sends
// SIGTERM to all processes left. That is one request; a second request is the same signal once more, or any signal a
// while later. Pure, not thread-safe.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "base/units.h"

namespace tacho {

class EndRequests {
 public:
  // Those that were found waiting together.
  void signals(const std::vector<int>& numbers, int64_t now_ns) {
    const bool later = !seen_.empty() && now_ns - first_ns_ >= kTogether_ns;
    if (seen_.empty()) first_ns_ = now_ns;
    for (const int number : numbers) insists_ = insists_ || later || before_.contains(number);
    seen_.insert(numbers.begin(), numbers.end());
    before_ = seen_;
    asked_ = true;
  }
  // Never a second request: it says that the task is over, and not that anybody is in a hurry.
  void parent_gone() { asked_ = true; }

  bool asked() const { return asked_; }
  bool insists() const { return insists_; }

 private:
  static constexpr int64_t kTogether_ns = kNsPerSec;
  std::set<int> seen_, before_;  // before_: earlier than the ones that wait together now
  int64_t first_ns_ = 0;
  bool asked_ = false, insists_ = false;
};

}  // namespace tacho
