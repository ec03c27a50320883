// The tree over real processes of the test's own: what they used, each once.
#include "probe/tree/process_tree.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string_view>
#include <vector>

#include "os/file.h"
#include "probe/tree/process_observer.h"
#include "probe/tree/tree_test_support.h"

namespace tacho {
namespace {

TEST(ProcessTree, ASignalReachesNobodyElse) {
  Following following;
  Flag end, reaped;
  // The root has two children; one ends, and its number becomes a stranger's.
  int numbers[2] = {-1, -1};
  ASSERT_EQ(::pipe(numbers), 0);
  Worker root([&] {
    const pid_t first = ::fork();
    if (first == 0)
      for (;;) ::pause();
    const pid_t second = ::fork();
    if (second == 0)
      for (;;) ::pause();
    const pid_t both[2] = {first, second};
    if (::write(numbers[1], both, sizeof both) != sizeof both) ::_exit(1);
    end.wait();
    ::kill(first, SIGKILL);
    ::waitpid(first, nullptr, 0);
    reaped.raise();
    ::waitpid(second, nullptr, 0);
  });
  pid_t both[2] = {0, 0};
  ASSERT_EQ(::read(numbers[0], both, sizeof both), static_cast<ssize_t>(sizeof both));
  ASSERT_TRUE(following.tree.follow(root.pid, true));
  following.tick();
  ASSERT_TRUE(following.tree.contains(both[0]) && following.tree.contains(both[1]));
  end.raise();
  reaped.wait();
  ::usleep(30'000);  // a start time has ticks of 10 ms
  const pid_t stranger = fork_as(both[0]);
  following.tree.signal_others(SIGKILL);
  root.wait_until_done();  // the second child got it
  EXPECT_EQ(::kill(root.pid, 0), 0);
  if (stranger != 0) {
    EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "a stranger was killed";
    ::kill(stranger, SIGKILL);
    ::waitpid(stranger, nullptr, 0);
  }
  root.end();
  ::close(numbers[0]);
  ::close(numbers[1]);
  if (stranger == 0) GTEST_SKIP() << "may not choose the number of a process";
}

TEST(ProcessTree, CountsAChildFromZero) {
  const Worker stranger([] {});  // a child from before
  Following following;
  following.tree.expect_own_child();
  EXPECT_TRUE(following.tree.readable());
  const Worker worker([] { burn_ms(60); });
  worker.wait_until_done();
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  following.tick();
  EXPECT_GE(following.tree.total().cpu_ns(), 60'000'000);
  EXPECT_EQ(following.tree.root(), worker.pid);
  EXPECT_TRUE(following.tree.contains(worker.pid));
  EXPECT_FALSE(following.tree.contains(stranger.pid));
  ::kill(stranger.pid, SIGKILL);
  rusage of_stranger{};
  ::wait4(stranger.pid, nullptr, 0, &of_stranger);
  following.tree.reaped(stranger.pid, of_stranger);
  EXPECT_EQ(following.tree.processes_seen(), 1);
  const rusage usage = worker.end();
  following.tree.reaped(worker.pid, usage);
  following.tick();
  const int64_t exact = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000'000 +
                        (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1'000;
  EXPECT_GE(following.tree.total().cpu_ns(), exact);
  EXPECT_LE(following.tree.total().cpu_ns(), exact + 10'000'000);
  EXPECT_TRUE(following.tree.empty());
}

// Children of a fork share their parent's memory: it counts once, whoever of them is there.
TEST(ProcessTree, MemorySharedByAFamilyCountsOnce) {
  constexpr size_t kBytes = 64 << 20;
  Flag end_children;
  const Worker parent([&] {
    // The test's own pages are small beside these.
    void* const mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const memory = static_cast<volatile char*>(mapped);
    for (size_t i = 0; i < kBytes; i += 4096) memory[i] = 1;
    std::vector<std::unique_ptr<Worker>> children;
    for (int i = 0; i < 4; ++i) children.push_back(std::make_unique<Worker>([] {}));
    for (const auto& child : children) child->wait_until_done();
    if (::fork() == 0) {  // ends the children when it is told to, so that the parent need not
      end_children.wait();
      for (const auto& child : children) ::kill(child->pid, SIGKILL);
      ::_exit(0);
    }
    ::signal(SIGCHLD, SIG_IGN);
  });
  parent.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(parent.pid, false));
  following.tick();
  const TreeMemory five = following.tree.memory();
  if (!file_exists("/proc/self/smaps_rollup")) GTEST_SKIP() << "this kernel has no smaps_rollup";
  EXPECT_NE(std::string_view(five.source), "rss");
  EXPECT_GT(five.rss_bytes, int64_t{4} * kBytes);
  EXPECT_GE(five.bytes, int64_t{kBytes});
#ifndef TACHO_SANITIZED  // its shadow pages make a reading so dear that the budget leaves some out
  EXPECT_LT(five.bytes, int64_t{kBytes} * 3 / 2);
#endif
  end_children.raise();
  EXPECT_TRUE(following.tick_until([&] { return following.tree.children() == 0; }));
  EXPECT_GE(following.tree.memory().bytes, int64_t{kBytes}) << "the parent has it for itself now";
  ::kill(parent.pid, SIGKILL);
  parent.end();
}

TEST(ProcessTree, AttachingCountsFromNow) {
  const Worker worker([] { burn_ms(100); });
  worker.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  following.tick();
  EXPECT_LT(following.tree.total().cpu_ns(), 50'000'000);
  worker.end();
}

// The sampler reads its other probes first, and on a loaded machine that may take a while.
TEST(ProcessTree, WhatIsUsedBetweenFollowingAndTheBaselineCounts) {
  const Flag go;
  const Worker worker([&] {
    go.wait();
    burn_ms(100);
  });
  struct Told final : ProcessObserver {
    void came(Member& member) override { own_ns.push_back(member.own_cpu_ns()); }
    void ended(Member&, const ProcessEnd&) override {}
    std::vector<int64_t> own_ns;
  } told;
  Following following;
  following.tree.observe(&told);
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  EXPECT_TRUE(told.own_ns.empty()) << "what it used before is not known to be left out yet";
  go.raise();
  worker.wait_until_done();
  following.tree.begin(following.now_ns);
  EXPECT_EQ(following.tree.total().cpu_ns(), 0);
  ASSERT_EQ(told.own_ns.size(), 1u);
  EXPECT_EQ(told.own_ns[0], 0);
  following.tick();
  EXPECT_GE(following.tree.total().cpu_ns(), 90'000'000);
  worker.end();
}

// Its parent is this test, which is no member: what it used between its last reading and its end is unknown, and said.
TEST(ProcessTree, KnowsWhomAStrangerWaitedFor) {
  const Worker worker([] {});
  worker.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  following.tree.begin(following.now_ns);
  worker.end();
  following.tick();
  EXPECT_TRUE(following.tree.empty());
  EXPECT_EQ(following.tree.unwaited(), 1);
}

TEST(ProcessTree, AChildThatWasWaitedForIsNotCountedTwice) {
  Following following;
  following.tree.expect_own_child();
  const Flag burnt;
  const Worker worker([&] {
    if (::fork() == 0) {
      burn_ms(120);
      burnt.raise();
      ::pause();
    }
    burnt.wait();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  worker.wait_until_done();
  following.tick();
  const int64_t before = following.tree.total().cpu_ns();
  EXPECT_GE(before, 110'000'000);
  std::vector<pid_t> pids;
  following.tree.copy(pids);
  ASSERT_EQ(pids.size(), 2u);
  ::kill(pids[0] == worker.pid ? pids[1] : pids[0], SIGKILL);
  // Nobody waits for it here: it is a zombie, which keeps its counters and is no live child.
  EXPECT_TRUE(following.tick_until([&] { return following.tree.children() == 0; }));
  EXPECT_LT(following.tree.total().cpu_ns(), before + 30'000'000);
  const rusage usage = worker.end();
  following.tree.reaped(worker.pid, usage);
  following.tick();
  EXPECT_LT(following.tree.total().cpu_ns(), before + 60'000'000);
}

// The root of an attached tree waits for its last child and ends: what it left is read before the tick that finds both
// gone.
TEST(ProcessTree, TheLastChildOfARootThatEndsCountsOnce) {
  for (const bool still_there : {true, false}) {
    Flag forked, go;
    const pid_t root = ::fork();
    if (root == 0) {
      const pid_t child = ::fork();
      if (child == 0) {
        burn_ms(200);
        forked.raise();
        go.wait();
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
      ::_exit(0);
    }
    Following following;
    ASSERT_TRUE(following.tree.follow(root, false));
    forked.wait();
    following.tick();
    const int64_t before_ns = following.tree.total().cpu_ns();
    const TreeMemory memory = following.tree.memory();
    EXPECT_GT(memory.bytes, 0);
    go.raise();
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(root), &info, WEXITED | WNOWAIT), 0);
    following.tree.root_ended();
    if (!still_there) ::waitpid(root, nullptr, 0);
    following.tick();
    EXPECT_LT(following.tree.total().cpu_ns() - before_ns, 100'000'000) << still_there;
    EXPECT_GT(following.tree.total().cpu_ns(), 150'000'000) << still_there;
    EXPECT_FALSE(following.tree.lost_some());
    EXPECT_EQ(following.tree.memory().bytes, memory.bytes) << "zombies have none: the last value stands";
    EXPECT_STREQ(following.tree.memory().source, memory.source);
    if (still_there) ::waitpid(root, nullptr, 0);
  }
}

// However often it is looked at while all of it ends, nothing counts twice: a chain of processes, each of which waits
// for the next, as a shell does.
TEST(ProcessTree, AnAttachedTreeThatEndsIsCountedOnce) {
  constexpr int kTrees = 12;
  for (int i = 0; i < kTrees; ++i) {
    Flag go;
    const pid_t root = ::fork();
    if (root == 0) {
      if (i % 2 != 0) ::signal(SIGCHLD, SIG_IGN);
      for (int depth = 0; depth < 2; ++depth) {
        const pid_t child = ::fork();
        if (child != 0) {
          ::waitpid(child, nullptr, 0);
          ::_exit(0);
        }
      }
      go.wait();
      burn_ms(40);
      ::_exit(0);
    }
    Following following;
    ASSERT_TRUE(following.tree.follow(root, false));
    ASSERT_TRUE(following.tick_until([&] { return following.tree.children() == 2; }));
    go.raise();
    const auto ended = [&](bool reap) {
      siginfo_t info{};
      return ::waitid(P_PID, static_cast<id_t>(root), &info, WEXITED | WNOHANG | (reap ? 0 : WNOWAIT)) == 0 &&
             info.si_pid == root;
    };
    while (!ended(i % 4 < 2)) following.tick();
    following.tree.root_ended();
    following.tick();
    if (i % 4 >= 2) ::waitpid(root, nullptr, 0);
    following.tick();
    EXPECT_LT(following.tree.total().cpu_ns(), 75'000'000) << i;
    EXPECT_GT(following.tree.total().cpu_ns(), i % 2 == 0 ? 20'000'000 : 0) << i;
  }
}

TEST(ProcessTree, NeverFalls) {
  Following following;
  following.tree.expect_own_child();
  int64_t last = 0;
  const Worker worker([] {
    for (int i = 0; i < 40; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        burn_ms(3);
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
    }
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  for (int i = 0; i < 60; ++i) {
    following.tick();
    EXPECT_GE(following.tree.total().user_ns + following.tree.total().system_ns, last);
    last = following.tree.total().cpu_ns();
    ::usleep(2'000);
  }
  worker.wait_until_done();
  worker.end();
}

}  // namespace
}  // namespace tacho
