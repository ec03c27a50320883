// How ProcessTree keeps the time of children that the kernel reaps by itself, because their parent ignores SIGCHLD: nobody
// is told what they used, so a clock that children inherit runs beside the sum from the moment such a parent is seen.
#include <algorithm>

#include "base/log.h"
#include "probe/process_tree.h"

namespace tacho {
namespace {

constexpr int kMostAttempts = 20;  // to find one process at rest
constexpr int kMostTries = 20;      // in as many ticks, to find all of them so

}  // namespace

// Whoever is forked after its parent got a clock has it, too, and must not get another one: it would count twice. So the clock
// of a process begins while it neither forks nor starts a thread: its children before are those behind.
ProcessTree::Clocked ProcessTree::give_clock(Member& member, InheritedClock& clock, std::vector<pid_t>& children) {
  std::vector<pid_t> behind;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    children.clear();
    if (member.read_children(proc_fd_.get(), context_.buffer, children) != ChildrenLists::Outcome::complete) continue;
    const uint64_t before = member.family_fingerprint();
    InheritedClock own;
    if (const Status status = own.add(proc_fd_.get(), member.pid()); !status) {
      log::debug("no clock for children that the kernel reaps: " + status.error().message());
      return Clocked::never;
    }
    behind.clear();
    if (member.read_children(proc_fd_.get(), context_.buffer, behind) != ChildrenLists::Outcome::complete) continue;
    if (member.family_fingerprint() != before) continue;
    return clock.take(std::move(own)) ? Clocked::now : Clocked::never;
  }
  return member.has_ended(proc_fd_.get(), context_.buffer) ? Clocked::now : Clocked::not_yet;
}

bool ProcessTree::start_clock() {
  if (context_.cgroup.job_only) return false;  // which knows it all
  if (++clock_tries_ >= kMostTries) clock_tried_ = true;
  InheritedClock clock;
  std::vector<pid_t> waiting, children;
  copy(waiting);
  for (size_t i = 0; i < waiting.size(); ++i) {
    Member* member = find(waiting[i]);
    if (member == nullptr || member->zombie()) continue;
    const Clocked clocked = give_clock(*member, clock, children);
    if (clocked == Clocked::never) clock_tried_ = true;
    if (clocked != Clocked::now) return false;
    // Those that were forked since the members were looked for, before their parent had a clock.
    for (const pid_t child : children) {
      if (find(child) == nullptr) add(child, waiting[i]);
      if (std::find(waiting.begin(), waiting.end(), child) == waiting.end()) waiting.push_back(child);
    }
  }
  clock_tried_ = true;
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
