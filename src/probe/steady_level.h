// A level of the machine that trembles: shown as it was until it has moved by a whole step. The last digits of memory and
// space change with every reading and tell nothing, but they do not compress, and were a fifth of what is sent. Each value
// that is shown was read; the first and the last of a run are always as read. Not thread-safe.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace tacho {

class SteadyLevel {
 public:
  int64_t show(int64_t now, int64_t step, bool exact) {
    if (exact || !known_ || std::abs(now - shown_) >= step) shown_ = now;
    known_ = true;
    return shown_;
  }
  int64_t shown() const { return shown_; }

 private:
  int64_t shown_ = 0;
  bool known_ = false;
};

}  // namespace tacho
