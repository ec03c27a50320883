// Children that the kernel reaps by itself, because their parent ignores SIGCHLD.
#include "probe/tree/process_tree.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

#include "os/process.h"
#include "probe/tree/tree_test_support.h"

namespace tacho {
namespace {

TEST(ProcessTree, WhatTheKernelReapedIsKept) {
  Following following;
  following.tree.expect_own_child();
  const Flag burnt, end;
  const Worker worker([&] {
    ::signal(SIGCHLD, SIG_IGN);
    if (::fork() == 0) {
      burn_ms(150);
      burnt.raise();
      end.wait();
      ::_exit(0);
    }
    burnt.wait();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  worker.wait_until_done();
  following.tick();
  EXPECT_GE(following.tree.total().cpu_ns(), 140'000'000);
  end.raise();
  EXPECT_TRUE(following.tick_until([&] { return following.tree.children() == 0; }));
  EXPECT_TRUE(following.tree.lost_some());
  EXPECT_GE(following.tree.total().cpu_ns(), 140'000'000);
  worker.end();
}

// The root ignores SIGCHLD and ends in the same tick as its child: its rusage has nothing of the child.
TEST(ProcessTree, WhatTheKernelReapedIsKeptWhenTheRootEndsToo) {
  Flag burnt, go;
  Following following;
  following.tree.expect_own_child();
  const pid_t root = ::fork();
  if (root == 0) {
    ::signal(SIGCHLD, SIG_IGN);
    if (::fork() == 0) {
      burn_ms(200);
      burnt.raise();
      go.wait();
      ::_exit(0);
    }
    ::waitpid(-1, nullptr, 0);  // until there is none left
    ::_exit(0);
  }
  ASSERT_TRUE(following.tree.follow(root, true));
  burnt.wait();
  following.tick();
  go.raise();
  rusage usage{};
  ::wait4(root, nullptr, 0, &usage);
  following.tree.reaped(root, usage);
  following.tick();
  EXPECT_TRUE(following.tree.lost_some());
  EXPECT_GE(following.tree.total().cpu_ns(), 200'000'000);
  EXPECT_LT(following.tree.total().cpu_ns(), 300'000'000);
}

// An attached tree's first reading is its first; what the kernel reaps before the next tick would be lost.
TEST(ProcessTree, OfAnAttachedTreeTheClockRunsFromTheFirstReadingOn) {
  if (!PerfCounter::on_thread(kPerfTaskClock, ::gettid())) GTEST_SKIP() << "this kernel gives out no task clock";
  const Worker worker([] { ::signal(SIGCHLD, SIG_IGN); });
  worker.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  following.tree.begin(0);
  EXPECT_TRUE(following.tree.has_clock());
  worker.end();
}

// Born, busy and gone between two ticks: only a clock that it inherited knows of it.
TEST(ProcessTree, WhatTheKernelReapedUnseenIsByAClock) {
  if (!PerfCounter::on_thread(kPerfTaskClock, ::gettid())) GTEST_SKIP() << "this kernel gives out no task clock";
  Flag seen, done;
  Following following;
  following.tree.expect_own_child();
  const Worker worker([&] {
    ::signal(SIGCHLD, SIG_IGN);
    seen.wait();
    for (int i = 0; i < 3; ++i) {
      if (::fork() == 0) {
        burn_ms(50);
        ::_exit(0);
      }
      ::waitpid(-1, nullptr, 0);  // until there is none left
    }
    done.raise();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  ASSERT_TRUE(following.tick_until([&] { return following.tree.has_clock(); }));
  const int64_t before_ns = following.tree.total().cpu_ns();
  seen.raise();
  done.wait();
  following.tick();
  EXPECT_GE(following.tree.total().cpu_ns() - before_ns, 145'000'000);
  EXPECT_LT(following.tree.total().cpu_ns() - before_ns, 250'000'000);
  worker.end();
}

// Whoever is forked while clocks are given out has its parent's, and gets no other.
TEST(ProcessTree, AChildForkedWhileTheClockStartsCountsOnce) {
  if (!PerfCounter::on_thread(kPerfTaskClock, ::gettid())) GTEST_SKIP() << "this kernel gives out no task clock";
  constexpr int kIdle = 60, kBusy = 40;
  auto* const used_ns = static_cast<std::atomic<int64_t>*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Flag ready, done;
  const Worker worker([&] {
    for (int i = 0; i < kIdle; ++i)
      if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
      }
    ::signal(SIGCHLD, SIG_IGN);
    ready.raise();
    for (int i = 0; i < kBusy; ++i) {  // about one each time that a clock is given to somebody else
      if (::fork() == 0) {
        ::usleep(20'000);
        burn_ms(8);
        timespec now{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        *used_ns += now.tv_sec * 1'000'000'000 + now.tv_nsec;
        done.raise();
        ::_exit(0);
      }
      ::usleep(100);
    }
    for (int i = 0; i < kBusy; ++i) done.wait();
  });
  Following following;
  ready.wait();
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  for (int i = 0; i < 3; ++i) following.tick();
  worker.wait_until_done();
  following.tick();
  ASSERT_TRUE(following.tree.has_clock());
  const int64_t truth_ns = *used_ns + process_cpu_ns(worker.pid);
  EXPECT_LT(following.tree.total().cpu_ns(), truth_ns + truth_ns / 10 + 40'000'000);
  ::kill(worker.pid, SIGKILL);
  worker.end();
  ::munmap(used_ns, 4096);
}

}  // namespace
}  // namespace tacho
