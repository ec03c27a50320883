// How ProcessTree finds new members: in the children lists of all members, in the list of those that came to tacho, by
// session, by parent where the kernel has no lists, or in a cgroup's own list.
//
// What may be left out is only what cannot be there. A process comes into being by a fork, and the kernel counts every
// fork of the machine inside the same lock that makes the process visible: when that count, read before all lists were
// read, is the same now, nobody is missing. Whether a single member forked since cannot be told (the clock of a process
// that runs on another CPU stands still for up to a tick of the kernel's), and asking costs as much as its list; so all
// lists are read, or none.
//
// To ask new process numbers for their parent instead would cost less beside strangers that fork, and miss members: a
// number is given before its process can be seen, without a bound on the time between (a fork may be throttled or wait
// for a lock there), and it may be chosen out of order (clone3 set_tid, ns_last_pid). So numbers are asked only for
// whom no list can have.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "os/cgroup_folder.h"
#include "os/process.h"
#include "probe/tree/process_tree.h"

namespace tacho {
namespace {

constexpr int kMostPasses = 5;
constexpr int kMostSearches = 4;
constexpr uint32_t kListAllTicks = 60;

}  // namespace

// forks: the machine's count, read before; below 1 when it is not known.
bool ProcessTree::must_search(int64_t forks) {
  // A count that was never seen to move may be made up (not every /proc is the kernel's own).
  if (forks > 0 && last_forks_ > 0 && forks != last_forks_) forks_move_ = true;
  if (forks > 0) last_forks_ = forks;
  return !cgroup_folder_.empty() || !forks_move_ || !found_all_ || forks < 1 || forks != searched_forks_;
}

void ProcessTree::discover(int64_t forks, int64_t now_ns) {
  found_all_ = alone_;
  if (alone_) return;
  if (!cgroup_folder_.empty()) return discover_in_cgroup();
  // A process that ends hands its children to one whose list may have been read already; so while anybody is found, all
  // are asked again.
  for (int pass = 0; pass < kMostPasses && !found_all_; ++pass) {
    const int64_t seen = processes_seen_;
    bool steady = true;
    if (has_children_files_) steady = walk_members() && steady;
    if (!has_children_files_ || root_session_ != 0) search_numbers(forks, now_ns, pass > 0);
    found_all_ = steady && processes_seen_ == seen && !std::exchange(missed_one_, false);
  }
  if (forks > 0) searched_forks_ = forks;
}

// One reading of all lists, tacho's own at last, where those go whose parent ends meanwhile. False when somebody ended
// or a list would not stand still.
bool ProcessTree::walk_members() {
  bool steady = true;
  found_.clear();
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].zombie()) continue;
    const pid_t pid = members_[i].pid();
    const size_t known = members_.size();
    steady = visit_children_of(members_[i]) && steady;
    if (members_.size() != known) i = index_of(pid);  // new members may have been put before this one
  }
  if (own_child_ && own_children_fd_) {
    steady = read_own_children() && steady;
    adopt(own_pid_);
  }
  // Newly found ones have children of their own. Each is put into found_ once, when it becomes a member.
  for (size_t i = 0; i < found_.size(); ++i)
    if (Member* member = find(found_[i])) steady = visit_children_of(*member) && steady;
  return steady;
}

bool ProcessTree::visit_children_of(Member& member) {
  listed_.clear();
  const pid_t pid = member.pid();
  const ChildrenLists::Outcome outcome = member.read_children(proc_fd_.get(), context_.buffer, listed_);
  // Its children have another parent now, whose list may have been read already; once is enough.
  const bool just_gone = outcome == ChildrenLists::Outcome::gone && !std::exchange(member.lists_gone, true);
  adopt(pid);  // last: new members may move this one
  return outcome != ChildrenLists::Outcome::changing && !just_gone;
}

// As in ChildrenLists, for tacho's main thread, which orphans are given to.
bool ProcessTree::read_own_children() {
  std::string_view text;
  listed_.clear();
  for (int reading = 0; reading < kMostSearches; ++reading) {
    before_.swap(listed_);
    listed_.clear();
    if (!context_.buffer.read(own_children_fd_.get(), text)) return true;
    parse_children(text, [&](pid_t pid) { listed_.push_back(pid); });
    if (listed_.empty() || (reading > 0 && listed_ == before_)) return true;
  }
  return false;
}

// Adds those of listed_, the children of one process, that are not known.
void ProcessTree::adopt(pid_t parent) {
  for (const pid_t pid : listed_)
    if (find(pid) == nullptr && add(pid, parent)) found_.push_back(pid);
}

// Whether a process that was listed as a child of `parent` just now, and read afterwards, is that child: the number may
// have become another's in between.
bool ProcessTree::is_child(const Member& read, pid_t parent) {
  if (read.parent() == parent || find(read.parent()) != nullptr || (own_child_ && read.parent() == own_pid_))
    return true;
  if (own_child_) return false;  // orphans come to tacho, or to a member that will be found
  Member* ended = find(parent);
  return ended == nullptr || ended->has_ended(proc_fd_.get(), context_.buffer);
}

// Members that are in nobody's list: of the root's session, whose parent ended before it was seen; and where there are
// no lists, all.
void ProcessTree::search_numbers(int64_t forks, int64_t now_ns, bool again) {
  if (!again) {
    const bool all = tick_ - listed_all_tick_ >= kListAllTicks || context_.facts.closing;
    if (numbers_.collect(proc_fd_.get(), context_.buffer, forks, now_ns, all, candidates_)) {
      listed_all_tick_ = tick_;
      strangers_.clear();
    }
  }
  // Nobody enters a session but by being born in it, and a number among the new ones is not given twice: who was seen
  // in another session stays a stranger.
  before_.swap(strangers_);
  strangers_.clear();
  for (const pid_t pid : candidates_) {
    const bool known = has_children_files_ && std::binary_search(before_.begin(), before_.end(), pid);
    const pid_t session = root_session_ == 0 || known ? -1 : ::getsid(pid);
    const bool in_session = session == root_session_ && session > 0;
    if (known || (session > 0 && !in_session)) strangers_.push_back(pid);
    if (!in_session && has_children_files_) continue;
    // The clock of a process is asked by its own number only, not by that of a thread.
    if (find(pid) != nullptr || process_cpu_ns(pid) < 0) continue;
    if (in_session || is_child_by_number(pid)) add(pid, in_session ? kBySession : kByParent);
  }
}

bool ProcessTree::is_child_by_number(pid_t pid) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/stat", static_cast<int>(pid));
  std::string_view text;
  PidStat stat;
  if (!context_.buffer.read_at(proc_fd_.get(), path.data(), text) || !parse_pid_stat(text, stat)) return false;
  return find(stat.ppid) != nullptr || (own_child_ && stat.ppid == own_pid_);
}

// Processes come into a cgroup without a fork, so that its list is read every time.
void ProcessTree::discover_in_cgroup() {
  cgroup_read_before_ = std::exchange(cgroup_read_ticks_, boot_time_ticks());
  listed_.clear();
  visit_cgroup_procs(cgroup_folder_, [&](std::string_view text) {
    Scanner scan(text);
    while (!scan.done()) {
      int64_t pid = 0;
      if (scan.number(pid) && pid > 0 && pid <= INT32_MAX && find(static_cast<pid_t>(pid)) == nullptr)
        listed_.push_back(static_cast<pid_t>(pid));
      scan.line();
    }
  });
  for (const pid_t pid : listed_)
    if (find(pid) == nullptr) add(pid, kByCgroup);
}

}  // namespace tacho
