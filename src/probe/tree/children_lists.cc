#include "probe/tree/children_lists.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "os/directory.h"
#include "procfs/pid_files.h"

namespace tacho {
namespace {

constexpr int kMostReadings = 6;
constexpr nlink_t kLinksOfAFolder = 2;    // and one for each thread
constexpr size_t kMostKeptThreads = 256;  // of one process; files of further threads are opened for each reading

Fd open_list(int tasks_fd, int thread) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "%d/children", thread);
  return Fd(::openat(tasks_fd, path.data(), O_RDONLY | O_CLOEXEC));
}

uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3u; }  // FNV-1a

}  // namespace

void ChildrenLists::close() {
  tasks_.reset();
  main_.reset();
  threads_.clear();
}

bool ChildrenLists::read_main(pid_t pid, ReadBuffer& buffer, std::vector<pid_t>& children) {
  threads_.clear();
  if (!main_) main_ = open_list(tasks_.get(), pid);
  std::string_view text;
  if (!main_ || !buffer.read(main_.get(), text)) return false;
  parse_children(text, [&](pid_t child) { children.push_back(child); });
  return true;
}

bool ChildrenLists::read_threads(ReadBuffer& buffer, std::vector<pid_t>& children) {
  before_.swap(threads_);
  threads_.clear();
  size_t at = 0;
  NumericEntries entries(tasks_.get());
  for (int number = 0; entries.next(number);) {
    // Both are in the kernel's order, the order in which the threads were started.
    while (at < before_.size() && (before_[at].number != number || before_[at].inode != entries.inode())) {
      const auto same = [&](const Thread& thread) {
        return thread.number == number && thread.inode == entries.inode();
      };
      if (std::none_of(before_.begin() + static_cast<std::ptrdiff_t>(at), before_.end(), same)) break;
      ++at;
    }
    const bool known = at < before_.size() && before_[at].number == number && before_[at].inode == entries.inode();
    Fd list = known ? std::move(before_[at++].list) : Fd();
    if (!list) list = open_list(tasks_.get(), number);
    std::string_view text;
    fingerprint_ = mixed(fingerprint_, static_cast<uint64_t>(number));
    if (list && buffer.read(list.get(), text)) parse_children(text, [&](pid_t child) { children.push_back(child); });
    if (threads_.size() >= kMostKeptThreads) list.reset();
    threads_.push_back({number, entries.inode(), std::move(list)});
  }
  before_.clear();
  return !threads_.empty();
}

ChildrenLists::Outcome ChildrenLists::read(int proc_fd, pid_t pid, bool keep, ReadBuffer& buffer,
                                           std::vector<pid_t>& children) {
  opened_ = !tasks_;
  if (!tasks_) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "%d/task", static_cast<int>(pid));
    tasks_ = Fd(::openat(proc_fd, path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tasks_) return Outcome::gone;
  }
  const size_t begin = children.size();
  Outcome outcome = Outcome::changing;
  bool many = true;
  for (int reading = 0; reading < kMostReadings; ++reading) {
    const uint64_t last = std::exchange(fingerprint_, 1);
    children.resize(begin);
    struct stat folder {};
    // Two links are left of one that is gone, or this /proc does not count them: then the threads are listed. A thread
    // that is started behind this is a fork that the next search looks for.
    if (many) many = ::fstat(tasks_.get(), &folder) != 0 || folder.st_nlink != kLinksOfAFolder + 1;
    const bool there = many ? read_threads(buffer, children) : read_main(pid, buffer, children);
    if (!there) {
      outcome = Outcome::gone;
      break;
    }
    for (size_t i = begin; i < children.size(); ++i)
      fingerprint_ = mixed(fingerprint_, static_cast<uint64_t>(children[i]));
    if ((!many && children.size() == begin) || (reading > 0 && fingerprint_ == last)) {
      outcome = Outcome::complete;
      break;
    }
  }
  if (!keep) close();
  return outcome;
}

}  // namespace tacho
