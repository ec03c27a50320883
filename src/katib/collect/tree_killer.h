// Ends the trainer's whole process tree at an early stop: SIGTERM to everyone below the main process, again to whoever
// appears, SIGKILL after the grace time, until nobody is left. Who appears later is signalled when a second look finds
// it still there: when the trainer has ended, its wrapper reads the marker by a command that lives for milliseconds. A
// process is signalled through a pidfd after its start time was compared, so never a stranger that got its pid. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "katib/collect/pod.h"

namespace tacho {

class TreeKiller {
 public:
  static constexpr int64_t kScanNs = 200'000'000;

  // With `root_too` the main process itself is signalled as well (it is no wrapper).
  TreeKiller(Roots roots, ProcessId root, int64_t grace_ns, bool root_too)
      : roots_(std::move(roots)), root_(root), grace_ns_(grace_ns), root_too_(root_too) {}

  // Scans, signals; true when nobody is left. Call again at deadline_ns().
  bool step(int64_t now_ns);
  int64_t deadline_ns() const { return next_ns_; }
  size_t signalled() const { return known_.size(); }

 private:
  Roots roots_;
  ProcessId root_;
  int64_t grace_ns_, begun_ns_ = -1, next_ns_ = 0;
  bool root_too_, killing_ = false;
  std::vector<pid_t> groups_;
  std::vector<ProcessId> known_;     // got SIGTERM
  std::vector<ProcessId> appeared_;  // at the last look
};

// False when it is gone, another process has its pid now, or we may not signal it.
bool signal_process(const Roots& roots, const ProcessId& id, int number);

}  // namespace tacho
