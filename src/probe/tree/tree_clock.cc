// How ProcessTree keeps the time of children that the kernel reaps by itself, because their parent ignores SIGCHLD:
// nobody is told what they used, so a clock that children inherit runs beside the sum from the moment such a parent is
// seen.
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "os/clock.h"
#include "probe/tree/clock_start.h"
#include "probe/tree/process_tree.h"

namespace tacho {

class ProcessTree::ClockedProcesses final : public ClockStart::Processes {
 public:
  explicit ClockedProcesses(ProcessTree& tree) : tree_(tree) {}

  bool read(pid_t pid, int64_t& used_ns) override {
    used_ns = 0;
    if (tree_.find(pid) == nullptr && !tree_.add(pid, kByParent)) return false;
    Member& member = *tree_.find(pid);
    const int64_t seen_ns = member.usage().cpu_ns();
    const bool there =
        member.check_clock() && member.refresh(tree_.proc_fd_.get(), tree_.context_.buffer) && !member.dead();
    if (there) used_ns = member.usage().cpu_ns();
    // Whoever waits for its children has been told of this one, or will be.
    else if (const Member* parent = tree_.find(member.parent()); parent != nullptr && parent->ignores_children())
      used_ns = seen_ns;
    return there && !member.zombie();
  }

  bool children(pid_t pid, std::vector<pid_t>& pids, uint64_t& fingerprint) override {
    Member* const member = tree_.find(pid);
    if (member == nullptr) return true;  // it becomes one when it is read
    const auto outcome = member->read_children(tree_.proc_fd_.get(), tree_.context_.buffer, pids);
    fingerprint = member->family_fingerprint();
    return outcome == ChildrenLists::Outcome::complete;
  }

  Status open(pid_t pid) override {
    opened_ = {};
    const Status status = opened_.add(tree_.proc_fd_.get(), pid);
    if (status && !opened_.running()) return Error{Code::gone, "it has ended", "", ""};
    return status;
  }

  bool keep() override { return kept.take(std::move(opened_)); }

  InheritedClock kept;

 private:
  ProcessTree& tree_;
  InheritedClock opened_;
};

std::vector<pid_t> ProcessTree::parents_first() const {
  std::vector<std::pair<size_t, pid_t>> by_depth;
  for (const Member& member : members_) {
    size_t depth = 0;
    for (size_t at = index_of(member.parent()); at < members_.size() && depth < members_.size();
         at = index_of(members_[at].parent()))
      ++depth;
    by_depth.emplace_back(depth, member.pid());
  }
  std::sort(by_depth.begin(), by_depth.end());
  std::vector<pid_t> pids;
  for (const auto& [depth, pid] : by_depth) pids.push_back(pid);
  return pids;
}

// From the first reading on: what such a child uses before the clock runs is known to nobody.
void ProcessTree::start_clock_if_needed(int64_t now_ns) {
  const auto ignores = [](const Member& member) { return member.ignores_children() && !member.zombie(); };
  if (!clock_tried_ && std::any_of(members_.begin(), members_.end(), ignores)) start_clock(now_ns);
}

void ProcessTree::start_clock(int64_t now_ns) {
  if (context_.cgroup.job_only) return;  // which knows it all
  clock_tried_ = true;
  // With the first clock of its kind on a machine the kernel waits for all CPUs, milliseconds in which the job goes on;
  // those after it take microseconds. So the first one is our own, and the tree is read once more behind it.
  const auto first = PerfCounter::on_thread(kPerfTaskClock, ::gettid());
  if (!first) return log::debug("no clock for children that the kernel reaps: " + first.error().message());
  read_members(false);
  discover(-1, now_ns);
  ClockStart start;
  ClockedProcesses processes(*this);
  const int64_t outside_ns = outside_.cpu_ns();
  stolen_.begin(context_.buffer);
  if (start.give(processes, parents_first()) && processes.kept.running()) {
    clock_ = std::move(processes.kept);
    clock_base_ns_ = outside_ns + start.base_ns();
    clock_begun_ns_ = system_clock().monotonic_ns();
  }
  // Whom a parent that was read just now had waited for must not count twice in the sum.
  read_members(true);
  discover(-1, now_ns);
}

void ProcessTree::add_clock_time(Usage& sum) {
  const auto now = clock_.running() ? clock_.read_ns() : std::nullopt;
  if (now) sum.raise_cpu_to(clock_base_ns_ + *now - stolen_.update(context_.buffer, *now));
}

}  // namespace tacho
