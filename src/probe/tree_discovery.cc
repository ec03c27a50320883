// How ProcessTree finds new members: by the children lists of members that ran, by searching /proc for parents, or in a
// cgroup's own list.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "os/cgroup_folder.h"
#include "os/directory.h"
#include "probe/process_tree.h"

namespace tacho {

void ProcessTree::discover(bool everyone) {
  if (!cgroup_folder_.empty()) return discover_in_cgroup();
  if (!has_children_files_ || root_session_ != 0) {
    discover_by_search();
    if (!has_children_files_) return;
  }
  ++walk_;
  found_.clear();
  std::string_view text;
  // Orphans are re-parented to tacho's main thread.
  if (own_child_ && context_.buffer.read(own_children_fd_.get(), text)) adopt(text);
  // Only a process that ran can have forked; the others are looked at now and then.
  for (size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (member.marker == walk_ || member.zombie()) continue;
    // The tick before counts too: the fork may have come after the machine's fork counter was read.
    if (!everyone && member.ran_tick + 1 < tick_) continue;
    member.marker = walk_;
    const pid_t pid = member.pid();
    visit_children_of(member);
    i = index_of(pid);  // new members may have been put before this one
  }
  // Newly found ones have children of their own; the marker keeps the walk finite.
  for (size_t i = 0; i < found_.size(); ++i) {
    Member* member = find(found_[i]);
    if (member == nullptr || member->marker == walk_) continue;
    member->marker = walk_;
    visit_children_of(*member);
  }
}

// The kernel lists only the children that a thread forked itself, so every thread is asked.
void ProcessTree::visit_children_of(Member& member) {
  std::string_view text;
  const pid_t pid = member.pid();
  if (member.threads() <= 1) {
    const int fd = member.children_fd(proc_fd_.get());
    const bool read = fd >= 0 && context_.buffer.read(fd, text);
    member.done_with_children();
    if (read) adopt(text);  // last: new members may move this one
    return;
  }
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "%d/task", static_cast<int>(pid));
  const Fd tasks(::openat(proc_fd_.get(), path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!tasks) return;
  NumericEntries threads(tasks.get());
  for (int tid = 0; threads.next(tid);) {
    std::snprintf(path.data(), path.size(), "%d/children", tid);
    if (context_.buffer.read_at(tasks.get(), path.data(), text)) adopt(text);
  }
}

// Adds those of the list that are not known. The list lies in the read buffer, so it is copied before files are read.
void ProcessTree::adopt(std::string_view children_text) {
  listed_.clear();
  parse_children(children_text, [&](pid_t pid) {
    if (find(pid) == nullptr) listed_.push_back(pid);
  });
  for (const pid_t pid : listed_)
    if (add(pid)) found_.push_back(pid);
}

// Without children lists, or when the root leads a session whose processes belong too: every pid that was never seen is
// asked for its parent and its session, once.
void ProcessTree::discover_by_search() {
  listed_.clear();
  NumericEntries entries(proc_fd_.get());
  for (int pid = 0; entries.next(pid);)
    if (find(pid) == nullptr) listed_.push_back(pid);
  std::sort(listed_.begin(), listed_.end());
  // Parents have lower pids than their children except around the wrap, so two rounds find whole branches.
  for (int round = 0; round < 2; ++round) {
    for (const pid_t pid : listed_) {
      if (round == 0 && std::binary_search(strangers_.begin(), strangers_.end(), pid)) continue;
      if (find(pid) != nullptr) continue;
      std::array<char, 32> path{};
      std::snprintf(path.data(), path.size(), "%d/stat", static_cast<int>(pid));
      std::string_view text;
      PidStat stat;
      if (!context_.buffer.read_at(proc_fd_.get(), path.data(), text) || !parse_pid_stat(text, stat)) continue;
      const bool child = find(stat.ppid) != nullptr || (own_child_ && stat.ppid == own_pid_);
      const bool same_session = root_session_ != 0 && stat.session == root_session_;
      if (child || same_session) add(pid);
    }
  }
  strangers_.swap(listed_);
  if (tick_ % 64 == 0) strangers_.clear();  // a reused pid gets its chance
}

void ProcessTree::discover_in_cgroup() {
  listed_.clear();
  visit_cgroup_procs(cgroup_folder_, [&](std::string_view text) {
    Scanner scan(text);
    while (!scan.done()) {
      int64_t pid = 0;
      if (scan.number(pid) && pid > 0 && find(static_cast<pid_t>(pid)) == nullptr) listed_.push_back(static_cast<pid_t>(pid));
      scan.line();
    }
  });
  for (const pid_t pid : listed_) add(pid);
}

}  // namespace tacho
