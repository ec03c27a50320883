// How ProcessTree keeps the time of children that the kernel reaps by itself, because their parent ignores SIGCHLD: nobody
// is told what they used, so a clock that children inherit runs beside the sum from the moment such a parent is seen.
#include <algorithm>

#include "base/log.h"
#include "probe/process_tree.h"

namespace tacho {

bool ProcessTree::start_clock() {
  if (context_.cgroup.job_only) return false;  // which knows it all
  clock_tried_ = true;
  // Whoever is forked before its parent has a clock has none, so all are looked for twice.
  InheritedClock clock;
  std::vector<pid_t> clocked;
  for (int round = 0; round < 2 && clocked.size() < members_.size(); ++round) {
    for (const Member& member : members_) {
      if (member.zombie() || std::find(clocked.begin(), clocked.end(), member.pid()) != clocked.end()) continue;
      if (const Status status = clock.add(proc_fd_.get(), member.pid()); !status) {
        log::debug("no clock for children that the kernel reaps: " + status.error().message());
        return false;
      }
      clocked.push_back(member.pid());
    }
    discover(true);
  }
  clock_ = std::move(clock);
  return clock_.running();
}

// The sum, of this moment, is where the clock begins.
void ProcessTree::set_clock_base(const Usage& sum) {
  if (const auto now = clock_.read_ns()) clock_base_ns_ = sum.cpu_ns() - *now;
  else clock_ = {};
}

void ProcessTree::add_clock_time(Usage& sum) const {
  const auto now = clock_.running() ? clock_.read_ns() : std::nullopt;
  if (!now) return;
  const int64_t unseen_ns = clock_base_ns_ + *now - sum.cpu_ns();
  if (unseen_ns <= 0) return;
  // The clock does not tell user from system time: divided as the rest is.
  const double user_share = sum.cpu_ns() > 0 ? static_cast<double>(sum.user_ns) / static_cast<double>(sum.cpu_ns()) : 1;
  const auto user_ns = static_cast<int64_t>(static_cast<double>(unseen_ns) * std::clamp(user_share, 0.0, 1.0));
  sum.user_ns += user_ns;
  sum.system_ns += unseen_ns - user_ns;
}

}  // namespace tacho
