// Two collectors with one state file would each undo what the other wrote down, and lose or double rows. So the
// collector that uses the file holds flock() on another one beside it, <state>.lock, as long as it lives; a killed one
// holds nothing. A restarted sidecar may start while the one before is still sending its last rows: it waits for that
// one, and gives up only if that one does not end. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class StateLock {
 public:
  // Longer than a collector takes to end when asked to.
  static constexpr int64_t kWaitNs = 120'000'000'000;

  // `state` "": there is no state, and nothing to lock. Where the file cannot be made or its file system has no locks,
  // there is no lock, with a message. Gives up when `stop_fd` is readable.
  static Result<StateLock> take(const std::string& state, int64_t wait_ns, int stop_fd);
  bool held() const { return static_cast<bool>(fd_); }

 private:
  Fd fd_;
};

}  // namespace tacho
