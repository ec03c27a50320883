#include "probe/tree/clock_start.h"

#include <algorithm>

#include "base/log.h"

namespace tacho {
namespace {

constexpr int kMostAttempts = 4;  // to find one process at rest

}  // namespace

bool ClockStart::give(Processes& processes, const std::vector<pid_t>& members) {
  std::vector<pid_t> waiting = members;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (!give_one(processes, waiting[i])) return false;
    for (const pid_t child : before_)
      if (std::find(waiting.begin(), waiting.end(), child) == waiting.end()) waiting.push_back(child);
  }
  return true;
}

// before_ are then the children that have no clock.
bool ClockStart::give_one(Processes& processes, pid_t pid) {
  for (int attempt = 1;; ++attempt) {
    uint64_t fingerprint = 0, fingerprint_behind = 0;
    int64_t used_ns = 0;
    before_.clear();
    const bool still = processes.children(pid, before_, fingerprint);
    const bool there = processes.read(pid, used_ns);
    const Status status = there ? processes.open(pid) : Error{Code::gone, "it has ended", "", ""};
    if (!status && status.error().code == Code::gone) {
      base_ns_ += used_ns;
      return true;
    }
    if (!status) {
      log::debug("no clock for children that the kernel reaps: " + status.error().message());
      return false;
    }
    behind_.clear();
    const bool still_behind = processes.children(pid, behind_, fingerprint_behind);
    const bool undisturbed = still && still_behind && fingerprint == fingerprint_behind;
    if (!undisturbed && attempt < kMostAttempts) continue;
    base_ns_ += used_ns;
    if (!undisturbed)
      in_doubt_ += static_cast<int>(std::count_if(behind_.begin(), behind_.end(), [&](pid_t child) {
        return std::find(before_.begin(), before_.end(), child) == before_.end();
      }));
    return processes.keep();
  }
}

}  // namespace tacho
