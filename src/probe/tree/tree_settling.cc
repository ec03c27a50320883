// How ProcessTree settles who has ended: its time is in its parent's sum by now, or in that of an ancestor who waited
// for both, or nowhere, and then it goes into R. Nothing counts twice, whenever in a tick it ended.
#include <algorithm>
#include <utility>

#include "base/units.h"
#include "os/process.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

// User and system time of reaped children are each cut to ticks of 10 ms, so that their growth may read that much low.
constexpr int64_t kRoundingNs = 20 * kNsPerMs;

}  // namespace

void ProcessTree::read_reapers_again(size_t first_vanished) {
  // A reaper that is gone by now joins the list: its own reaper has the time of both.
  for (size_t i = first_vanished; i < vanished_.size(); ++i) {
    const size_t reaper = index_of(surviving_ancestor(vanished_[i]));
    if (reaper < members_.size() && !members_[reaper].refresh(proc_fd_.get(), context_.buffer)) vanish(reaper);
  }
}

void ProcessTree::recheck_children_of_reapers() {
  const auto reaped_some = [](const Member& member) { return member.reaped_growth_ns() > 0; };
  if (vanished_.empty() && std::none_of(members_.begin(), members_.end(), reaped_some)) return;
  for (size_t i = members_.size(); i-- > 0;) {
    const Member* parent = find(members_[i].parent());
    const bool parent_reaped = parent != nullptr ? parent->reaped_growth_ns() > 0 : !vanished_.empty();
    if (!parent_reaped) continue;
    const bool gone = members_[i].zombie() ? !members_[i].refresh(proc_fd_.get(), context_.buffer) || members_[i].dead()
                                           : process_cpu_ns(members_[i].pid()) < 0;
    if (gone) vanish(i);
  }
}

// What ended and is waited for goes to its parent, but for the time that it waited for disks: the kernel adds that to
// nobody.
Usage ProcessTree::take_usage(const Member& gone) {
  Usage usage = gone.usage();
  outside_.iowait_ns += std::exchange(usage.iowait_ns, 0);
  return usage;
}

// Each vanished process was waited for by its nearest surviving ancestor, directly or through others that vanished too,
// or by nobody.
void ProcessTree::settle_vanished() {
  settle_with_vanished_parents();
  for (Member& gone : vanished_) gone.settle_to = surviving_ancestor(gone);
  while (!vanished_.empty()) {
    const pid_t ancestor = vanished_.back().settle_to;
    const bool by_stranger = !own_child_ && find(ancestor) == nullptr;
    Usage expected;
    for (size_t i = vanished_.size(); i-- > 0;) {
      if (vanished_[i].settle_to != ancestor) continue;
      if (by_stranger && !vanished_[i].end_known) ++unwaited_;
      expected += take_usage(vanished_[i]);
      vanished_.erase(vanished_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    settle(ancestor, expected);
  }
}

// Who vanished after it was read once more in this tick has the time of those that it had waited for already, and of
// those that these had waited for. The deepest first: what it absorbed is in its own sum from then on.
void ProcessTree::settle_with_vanished_parents() {
  for (;;) {
    Member* reaper = nullptr;
    for (Member& gone : vanished_)
      if (gone.reaped_growth_ns() > 0 && (reaper == nullptr || is_below(gone, reaper->pid()))) reaper = &gone;
    if (reaper == nullptr) return;
    const pid_t pid = reaper->pid();
    const int64_t growth_ns = reaper->reaped_growth_ns();
    reaper->end_tick();
    Usage expected;
    std::vector<pid_t> below;
    for (const Member& gone : vanished_)
      if (is_below(gone, pid)) below.push_back(gone.pid()), expected += take_usage(gone);
    std::erase_if(vanished_,
                  [&](const Member& gone) { return std::find(below.begin(), below.end(), gone.pid()) != below.end(); });
    count_lost(expected, growth_ns);
  }
}

// Whether it descends from pid through processes that vanished too.
bool ProcessTree::is_below(const Member& gone, pid_t pid) const {
  pid_t ancestor = gone.parent();
  for (size_t hops = 0; hops <= vanished_.size() && ancestor != pid; ++hops) {
    const auto dead = std::find_if(vanished_.begin(), vanished_.end(),
                                   [&](const Member& member) { return member.pid() == ancestor; });
    if (dead == vanished_.end()) return false;
    ancestor = dead->parent();
  }
  return ancestor == pid;
}

pid_t ProcessTree::surviving_ancestor(const Member& gone) const {
  pid_t ancestor = gone.parent();
  for (size_t hops = 0; hops <= vanished_.size() && index_of(ancestor) == members_.size(); ++hops) {
    const auto dead = std::find_if(vanished_.begin(), vanished_.end(),
                                   [&](const Member& member) { return member.pid() == ancestor; });
    if (dead == vanished_.end()) break;
    ancestor = dead->parent();
  }
  return ancestor;
}

void ProcessTree::settle(pid_t ancestor, const Usage& expected) {
  // Whom tacho reaped meanwhile brought the time of its own children along in its rusage, unless the kernel had reaped
  // them.
  const auto reaped =
      std::find_if(reaped_.begin(), reaped_.end(), [&](const Reaped& one) { return one.pid == ancestor; });
  if (reaped != reaped_.end()) return count_lost(expected, reaped->growth_ns);
  Member* reaper = find(ancestor);
  if (reaper == nullptr) {
    // Its parent is no member (the root of an attached tree, a process adopted by init): nobody here has its time.
    outside_ += expected;
    return;
  }
  // An orphan is waited for further up.
  int64_t growth_ns = reaper->reaped_growth_ns();
  size_t hops = 0;
  for (const Member* up = find(reaper->parent()); up != nullptr && hops < members_.size();
       up = find(up->parent()), ++hops)
    if (up->adopts) growth_ns += up->reaped_growth_ns();
  count_lost(expected, growth_ns);
}

// What of the expected time did not arrive where the children's time goes.
void ProcessTree::count_lost(const Usage& expected, int64_t growth_ns) {
  const int64_t missing_ns = expected.cpu_ns() - growth_ns;
  if (missing_ns <= kRoundingNs) return;
  // Reaped by the kernel itself (SIGCHLD ignored): what was last seen of it is kept.
  auto_reaped_ = true;
  Usage lost = expected;
  if (growth_ns > 0) {
    const double share = static_cast<double>(missing_ns) / static_cast<double>(expected.cpu_ns());
    lost = {};
    lost.user_ns = static_cast<int64_t>(static_cast<double>(expected.user_ns) * share);
    lost.system_ns = missing_ns - lost.user_ns;
  }
  outside_ += lost;
}

}  // namespace tacho
