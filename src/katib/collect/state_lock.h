// Two collectors with one state file would each undo what the other wrote down, and lose or double rows. So the one
// that works with it holds flock() on a file beside it, <state>.lock, as long as it lives; a killed one holds nothing.
// A restarted sidecar may come while the one before is still sending its last rows: it waits for that, and refuses only
// where the other does not end. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class StateLock {
 public:
  // Longer than a collector takes that was asked to end.
  static constexpr int64_t kWaitNs = 120'000'000'000;

  // `state` "": there is no state, and nothing to lock. Where the file cannot be made or its file system has no locks
  // there is none, which is said. Gives up when `stop_fd` is readable.
  static Result<StateLock> take(const std::string& state, int64_t wait_ns, int stop_fd);
  bool held() const { return static_cast<bool>(fd_); }

 private:
  Fd fd_;
};

}  // namespace tacho
