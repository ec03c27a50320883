#include "katib/collect/tree_killer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "os/process.h"

namespace tacho {

bool signal_process(const Roots& roots, const ProcessId& id, int number) {
  const Fd pidfd = open_pidfd(id.pid);
  if (!is_alive(roots, id)) return false;
  const long result =
      pidfd ? ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0) : ::kill(id.pid, number);
  if (result == 0) return true;
  if (errno == EPERM)
    log::warn(
        "not allowed to end a process of the trainer; run the collector as root or as the trainer's user, or add "
        "CAP_KILL");
  return false;
}

bool TreeKiller::step(int64_t now_ns) {
  const bool is_first = begun_ns_ < 0;
  if (is_first) begun_ns_ = now_ns;
  next_ns_ = now_ns + kScanNs;
  std::vector<ProcessId> alive = descendants(roots_, root_, groups_);
  if (root_too_ && is_alive(roots_, root_)) alive.push_back(root_);
  // Known ones that left the family (a new session, a parent that ended) are still ours.
  for (const ProcessId& id : known_)
    if (std::find(alive.begin(), alive.end(), id) == alive.end() && is_alive(roots_, id)) alive.push_back(id);
  const bool killing = now_ns - begun_ns_ >= grace_ns_;
  if (killing && !killing_ && !alive.empty())
    log::error("early stop: " + std::to_string(alive.size()) + " processes did not end in time; sending SIGKILL");
  killing_ = killing;
  const std::vector<ProcessId> appeared = std::exchange(appeared_, {});
  for (const ProcessId& id : alive) {
    const bool is_new = std::find(known_.begin(), known_.end(), id) == known_.end();
    if (is_new && !is_first && std::find(appeared.begin(), appeared.end(), id) == appeared.end()) {
      appeared_.push_back(id);
      continue;
    }
    if (is_new) known_.push_back(id);
    if (killing) signal_process(roots_, id, SIGKILL);
    else if (is_new) signal_process(roots_, id, SIGTERM);
  }
  return alive.empty();
}

}  // namespace tacho
