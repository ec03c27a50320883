// Clocks given out in a tree that changes between any two questions: a kernel in miniature, with a clock's rules of
// inheritance, that forks, ends, waits and runs at random each time that it is asked something.
#include "probe/tree/clock_start.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>

namespace tacho {
namespace {

class SmallKernel final : public ClockStart::Processes {
 public:
  struct Process {
    pid_t parent = 0;
    bool ignores = false;  // SIGCHLD: nobody is told what its children used
    int64_t own_ns = 0, waited_ns = 0, seen_ns = 0;
    std::set<int> clocks;
  };
  std::map<pid_t, Process> processes;
  std::map<int, int64_t> clocks;  // number → its time
  std::set<int> kept;
  std::function<void()> between;           // what happens before each answer
  int64_t truth_ns = 0, clockless_ns = 0;  // used by all; by those without a kept or open clock
  pid_t next_pid = 100;

  pid_t fork(pid_t parent, bool ignores = false) {
    Process child;
    child.parent = parent;
    child.ignores = ignores;
    if (processes.contains(parent)) child.clocks = processes[parent].clocks;
    processes[next_pid] = child;
    return next_pid++;
  }
  void run(pid_t pid, int64_t ns) {
    Process& process = processes.at(pid);
    process.own_ns += ns;
    truth_ns += ns;
    if (process.clocks.empty()) clockless_ns += ns;
    for (const int clock : process.clocks) clocks[clock] += ns;
  }
  // Its children go to its parent, as to a subreaper, which waits for it at once.
  void end(pid_t pid) {
    const Process gone = processes.at(pid);
    processes.erase(pid);
    for (auto& [number, process] : processes)
      if (process.parent == pid) process.parent = gone.parent;
    const auto parent = processes.find(gone.parent);
    if (parent != processes.end() && !parent->second.ignores) parent->second.waited_ns += gone.own_ns + gone.waited_ns;
    ended_[pid] = {gone.seen_ns, parent != processes.end() && parent->second.ignores};
  }
  int64_t clock_ns() const {
    int64_t sum = 0;
    for (const int clock : kept) sum += clocks.at(clock);
    return sum;
  }
  std::vector<pid_t> see_all() {
    std::vector<pid_t> pids;
    for (auto& [pid, process] : processes) {
      process.seen_ns = process.own_ns + process.waited_ns;
      pids.push_back(pid);  // numbers ascend: parents first
    }
    return pids;
  }

  bool read(pid_t pid, int64_t& used_ns) override {
    happen();
    const auto at = processes.find(pid);
    if (at != processes.end()) {
      used_ns = at->second.seen_ns = at->second.own_ns + at->second.waited_ns;
      return true;
    }
    used_ns = ended_[pid].second ? ended_[pid].first : 0;
    return false;
  }
  bool children(pid_t pid, std::vector<pid_t>& pids, uint64_t& fingerprint) override {
    happen();
    for (const auto& [number, process] : processes)
      if (process.parent == pid)
        pids.push_back(number), fingerprint = fingerprint * 1000003 + static_cast<uint64_t>(number);
    return true;
  }
  Status open(pid_t pid) override {
    close_opened();
    happen();
    if (!processes.contains(pid)) return Error{Code::gone, "", "", ""};
    opened_ = ++last_clock_;
    clocks[opened_] = 0;
    processes[pid].clocks.insert(opened_);
    happen();
    return ok();
  }
  bool keep() override {
    if (opened_ > 0) kept.insert(std::exchange(opened_, 0));
    return true;
  }

 private:
  void happen() {
    if (between) between();
  }
  void close_opened() {
    if (opened_ == 0) return;
    for (auto& [pid, process] : processes) process.clocks.erase(opened_);
    clocks.erase(std::exchange(opened_, 0));
  }
  std::map<pid_t, std::pair<int64_t, bool>> ended_;
  int opened_ = 0, last_clock_ = 0;
};

TEST(ClockStart, EachOfATreeAtRestHasOne) {
  SmallKernel kernel;
  const pid_t root = kernel.fork(1, true), child = kernel.fork(root), grandchild = kernel.fork(child);
  kernel.run(grandchild, 7);
  ClockStart start;
  ASSERT_TRUE(start.give(kernel, kernel.see_all()));
  for (const auto& [pid, process] : kernel.processes) EXPECT_EQ(process.clocks.size(), 1u) << pid;
  const pid_t later = kernel.fork(grandchild);
  for (const pid_t pid : {root, child, grandchild, later}) kernel.run(pid, 5);
  EXPECT_EQ(start.base_ns(), 7);
  EXPECT_EQ(start.base_ns() + kernel.clock_ns(), kernel.truth_ns);
  EXPECT_EQ(start.in_doubt(), 0);
}

// The race by name: forked between the list and the clock of its parent, or between that clock and the next list.
TEST(ClockStart, AChildThatIsForkedWhileItsParentGetsAClockHasNotTwo) {
  for (int moment = 1; moment <= 5; ++moment) {
    SmallKernel kernel;
    const pid_t root = kernel.fork(1, true);
    const auto members = kernel.see_all();
    int asked = 0;
    kernel.between = [&] {
      if (++asked == moment) kernel.fork(root);
    };
    ClockStart start;
    ASSERT_TRUE(start.give(kernel, members));
    for (auto& [pid, process] : kernel.processes) {
      EXPECT_EQ(process.clocks.size(), 1u) << pid << " at moment " << moment;
      kernel.run(pid, 10);
    }
    EXPECT_EQ(start.base_ns() + kernel.clock_ns(), kernel.truth_ns) << moment;
  }
}

// One that never rests has its clock all the same; only who was forked in the moments before goes without.
TEST(ClockStart, AParentThatForksWithoutPauseGetsOneAtOnce) {
  SmallKernel kernel;
  const pid_t root = kernel.fork(1, true);
  const auto members = kernel.see_all();
  kernel.between = [&] { kernel.fork(root); };
  ClockStart start;
  ASSERT_TRUE(start.give(kernel, members.size() == 1 ? members : std::vector<pid_t>{}));
  kernel.between = nullptr;
  EXPECT_FALSE(kernel.processes.at(root).clocks.empty());
  EXPECT_GT(start.in_doubt(), 0);
  for (const auto& [pid, process] : kernel.processes) EXPECT_LE(process.clocks.size(), 1u) << pid;
  const pid_t later = kernel.fork(root);
  EXPECT_EQ(kernel.processes.at(later).clocks.size(), 1u);
}

TEST(ClockStart, WhateverHappensMeanwhileNothingCountsTwice) {
  for (unsigned seed = 1; seed <= 3000; ++seed) {
    SmallKernel kernel;
    std::mt19937 random(seed);
    const auto chance = [&](int among) { return static_cast<int>(random() % static_cast<unsigned>(among)); };
    const auto any = [&] {
      auto at = kernel.processes.begin();
      std::advance(at, chance(static_cast<int>(kernel.processes.size())));
      return at->first;
    };
    const auto step = [&] {
      if (kernel.processes.empty()) return;
      const pid_t pid = any();
      switch (chance(6)) {
        case 0:
        case 1:
          if (kernel.processes.size() < 40) kernel.fork(pid, chance(3) == 0);
          break;
        case 2:
          if (kernel.processes.size() > 1) kernel.end(pid);
          break;
        default: kernel.run(pid, 1 + chance(100)); break;
      }
    };
    kernel.fork(1, true);
    for (int i = 0; i < 20; ++i) step();
    int64_t gone_ns = kernel.truth_ns;  // of those that ended unseen before: nobody's, as far as anybody knows
    const auto members = kernel.see_all();
    for (const auto& [pid, process] : kernel.processes) gone_ns -= process.seen_ns;
    const int pace = 1 + chance(8);
    kernel.between = [&] {
      if (chance(pace) == 0) step();
    };
    ClockStart start;
    ASSERT_TRUE(start.give(kernel, members));
    for (int i = 0; i < 50; ++i) step();
    for (const auto& [pid, process] : kernel.processes)
      ASSERT_LE(process.clocks.size(), 1u) << pid << " of seed " << seed;
    ASSERT_LE(start.base_ns() + kernel.clock_ns(), kernel.truth_ns - gone_ns) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tacho
