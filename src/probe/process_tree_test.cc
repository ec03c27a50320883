// The tree over real processes of the test's own.
#include "probe/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/file.h"
#include "os/process.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// Burns CPU time on the calling thread's own clock.
void burn_ms(int64_t ms) {
  timespec now{};
  do {
    for (int i = 0; i < 20000; ++i) asm volatile("");
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec * 1000 + now.tv_nsec / 1'000'000 < ms);
}

// Says that something happened in another process, however loaded the machine is.
struct Flag {
  int ends[2] = {-1, -1};
  Flag() { EXPECT_EQ(::pipe(ends), 0); }
  Flag(const Flag&) = delete;
  ~Flag() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void raise() const {
    const char byte = 1;
    if (::write(ends[1], &byte, 1) != 1) ::_exit(1);
  }
  void wait() const {
    char byte = 0;
    while (::read(ends[0], &byte, 1) < 0) {
    }
  }
};

// A child that does its work, then waits until it is told to end.
struct Worker {
  pid_t pid = 0;
  int say[2] = {-1, -1}, hear[2] = {-1, -1};
  explicit Worker(const std::function<void()>& work) {
    EXPECT_EQ(::pipe(say), 0);
    EXPECT_EQ(::pipe(hear), 0);
    pid = ::fork();
    if (pid == 0) {
      ::close(say[1]);
      work();
      char done = 1;
      if (::write(hear[1], &done, 1) != 1) ::_exit(1);
      while (::read(say[0], &done, 1) > 0) {
      }
      ::_exit(0);
    }
    ::close(say[0]);
    ::close(hear[1]);
  }
  void wait_until_done() const {
    char done = 0;
    EXPECT_EQ(::read(hear[0], &done, 1), 1);
  }
  rusage end() const {
    ::close(say[1]);
    rusage usage{};
    ::wait4(pid, nullptr, 0, &usage);
    return usage;
  }
};

struct Following {
  ProbeContext context;
  ProcessTree tree{context};
  int64_t now_ns = 1'000'000'000;
  void tick() { tree.update(now_ns += 1'000'000'000); }
};

// A process with this number, which must be free; 0 where that is not allowed (CLONE with set_tid, Linux 5.5).
pid_t fork_as(pid_t number) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
  } arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<uint64_t>(&number);
  arguments.set_tid_size = 1;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0)
    for (;;) ::pause();
  return pid > 0 ? static_cast<pid_t>(pid) : 0;
}

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
  for (int i = 0; i < 2000 && following.tree.children() > 0; ++i) {
    ::usleep(5000);
    following.tick();
  }
  EXPECT_EQ(following.tree.children(), 0);
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

TEST(ProcessTree, FindsGrandchildrenAndChildrenOfThreads) {
  const Flag forked;
  const Worker worker([&] {
    for (int i = 0; i < 3; ++i)
      if (::fork() == 0) {
        if (::fork() == 0) ::pause();
        forked.raise();
        ::pause();
      }
    for (int i = 0; i < 3; ++i) forked.wait();
  });
  worker.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  following.tick();
  EXPECT_EQ(following.tree.children(), 6);
  std::vector<pid_t> pids;
  following.tree.copy(pids);
  EXPECT_EQ(pids.size(), 7u);
  EXPECT_TRUE(std::is_sorted(pids.begin(), pids.end()));
  for (const pid_t pid : pids)
    if (pid != worker.pid) ::kill(pid, SIGKILL);
  worker.end();
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
  for (int i = 0; i < 200 && following.tree.children() > 0; ++i) {
    ::usleep(10'000);
    following.tick();
  }
  EXPECT_EQ(following.tree.children(), 0);
  EXPECT_LT(following.tree.total().cpu_ns(), before + 30'000'000);
  const rusage usage = worker.end();
  following.tree.reaped(worker.pid, usage);
  following.tick();
  EXPECT_LT(following.tree.total().cpu_ns(), before + 60'000'000);
}

// The root of an attached tree waits for its last child and ends: what it left is read before the tick that finds both gone.
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
  for (int i = 0; i < 200 && following.tree.children() > 0; ++i) {
    ::usleep(10'000);
    following.tick();
  }
  EXPECT_EQ(following.tree.children(), 0);
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
  for (int i = 0; i < 2000 && !following.tree.has_clock(); ++i) {
    ::usleep(1000);
    following.tick();
  }
  ASSERT_TRUE(following.tree.has_clock());
  const int64_t before_ns = following.tree.total().cpu_ns();
  seen.raise();
  done.wait();
  following.tick();
  EXPECT_GE(following.tree.total().cpu_ns() - before_ns, 145'000'000);
  EXPECT_LT(following.tree.total().cpu_ns() - before_ns, 250'000'000);
  worker.end();
}

// However often it is looked at while all of it ends, nothing counts twice: a chain of processes, each of which waits for the
// next, as a shell does.
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
    for (int k = 0; k < 5000 && following.tree.children() < 2; ++k) {
      ::usleep(1000);
      following.tick();
    }
    ASSERT_EQ(following.tree.children(), 2);
    go.raise();
    const auto ended = [&](bool reap) {
      siginfo_t info{};
      return ::waitid(P_PID, static_cast<id_t>(root), &info, WEXITED | WNOHANG | (reap ? 0 : WNOWAIT)) == 0 && info.si_pid == root;
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

// A look between two samples has no count of forks, or an old one: a root that forked and waits since then is not left out.
TEST(ProcessTree, AChildOfAWaitingRootIsThereAfterEarlyLooks) {
  Following following;
  following.tree.expect_own_child();
  const Flag forked;
  following.context.facts.forks = 1000;
  following.tick();
  const Worker worker([&] {
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      forked.raise();
      ::pause();
    }
    forked.wait();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  worker.wait_until_done();
  for (int look = 0; look < 5; ++look) {
    ::usleep(2000);
    following.tick();  // between two samples
  }
  EXPECT_EQ(following.tree.children(), 1);
  following.context.facts.forks = 1002;
  following.tick();
  EXPECT_EQ(following.tree.children(), 1);
  std::vector<pid_t> pids;
  following.tree.copy(pids);
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  worker.end();
}

// The count is taken at its word only when it was seen to move: elsewhere than in the kernel's own /proc it may be made up.
TEST(ProcessTree, ACountOfForksThatNeverMovesIsNotBelieved) {
  Flag go, forked;
  Following following;
  following.tree.expect_own_child();
  const Worker worker([&] {
    go.wait();
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      forked.raise();
      ::pause();
    }
    forked.wait();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  for (int i = 0; i < 3; ++i) {
    following.context.facts.forks = 7;
    following.tick();
  }
  go.raise();
  worker.wait_until_done();
  following.context.facts.forks = 7;
  following.tick();
  EXPECT_EQ(following.tree.children(), 1);
  std::vector<pid_t> pids;
  following.tree.copy(pids);
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  worker.end();
}

// A root that leads a session: whose parent ended before it was seen is in nobody's list, and has a number that is new.
TEST(ProcessTree, AnOrphanOfTheSessionIsFoundByItsNumber) {
  Flag go, forked;
  const Worker worker([&] {
    ::setsid();
    const pid_t helper = ::fork();
    if (helper == 0) {  // forks when it is told to, so that the root need not
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      go.wait();
      const pid_t middle = ::fork();
      if (middle == 0) {
        if (::fork() == 0) {
          forked.raise();
          ::pause();
        }
        ::_exit(0);
      }
      ::waitpid(middle, nullptr, 0);
      ::pause();
    }
  });
  worker.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  int64_t forks = 1'000'000;
  for (int i = 0; i < 5; ++i) {  // the numbers of the last seconds are known by now
    following.context.facts.forks = ++forks;
    following.tick();
  }
  EXPECT_EQ(following.tree.children(), 1);
  go.raise();
  forked.wait();
  ::usleep(50'000);
  following.context.facts.forks = ++forks;
  following.tick();
  EXPECT_EQ(following.tree.children(), 2);
  std::vector<pid_t> pids;
  following.tree.copy(pids);
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  worker.end();
}

// A thread that forked and ended has given its child to another one; none of them is asked for its number of threads before.
TEST(ProcessTree, ChildrenOfThreadsThatComeAndGo) {
  Flag go, forked;
  const Worker worker([&] {
    std::thread([&] {
      go.wait();
      std::thread second([&] {
        if (::fork() == 0) {
          ::prctl(PR_SET_PDEATHSIG, 0);
          forked.raise();
          ::pause();
        }
      });
      second.join();
      if (::fork() == 0) {
        forked.raise();
        ::pause();
      }
      ::pause();
    }).detach();
  });
  worker.wait_until_done();
  Following following;
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  following.tick();
  EXPECT_EQ(following.tree.children(), 0);
  go.raise();
  forked.wait();
  forked.wait();
  following.tick();
  EXPECT_EQ(following.tree.children(), 2);
  std::vector<pid_t> pids;
  following.tree.copy(pids);
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
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

// A /proc of files that the test writes, over real processes.
struct WrittenProc {
  TempDir folder;
  std::string own = std::to_string(::getpid());
  WrittenProc() {
    std::filesystem::create_directories(folder / own);
    std::filesystem::create_symlink(own, folder / "self");
    spill(folder / (own + "/stat"), own + " (test) S 1 1 1");
    std::filesystem::create_directories(folder / (own + "/task/" + own));
    spill(folder / (own + "/task/" + own + "/children"), "");
  }
  void process(pid_t pid, pid_t parent, int cutime, int blkio, const std::string& children) const {
    const std::string number = std::to_string(pid);
    std::filesystem::create_directories(folder / (number + "/task/" + number));
    std::string text = number + " (x) S " + std::to_string(parent) + " 1 1 0 -1 64 1 2 3 4 0 0 " + std::to_string(cutime) + " 0 20 0 1 0 99 1000 25";
    for (int field = 25; field < 42; ++field) text += " 0";
    spill(folder / (number + "/stat"), text + " " + std::to_string(blkio) + " 0 0");
    spill(folder / (number + "/task/" + number + "/children"), children);
  }
};

// The kernel adds the time that a process waited for disks to nobody when it is waited for.
TEST(ProcessTree, DiskWaitsOfReapedChildrenAreKept) {
  const Worker root([] {}), child([] {});
  root.wait_until_done();
  child.wait_until_done();
  const WrittenProc proc;
  ProbeContext context;
  context.roots.proc = proc.folder.path();
  ProcessTree tree(context);
  tree.expect_own_child();
  proc.process(root.pid, ::getpid(), 0, 10, std::to_string(child.pid) + " ");
  proc.process(child.pid, root.pid, 0, 200, "");
  ASSERT_TRUE(tree.follow(root.pid, true));
  tree.update(1);
  ASSERT_EQ(tree.children(), 1);
  const int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  EXPECT_EQ(tree.total().iowait_ns, 210 * tick_ns);
  ::kill(child.pid, SIGKILL);
  child.end();
  std::filesystem::remove_all(proc.folder / std::to_string(child.pid));
  proc.process(root.pid, ::getpid(), 50, 15, "");  // it waited for the child
  context.facts.closing = true;  // everybody is read
  tree.update(2);
  EXPECT_EQ(tree.children(), 0);
  EXPECT_EQ(tree.total().iowait_ns, 215 * tick_ns);
  root.end();
}

TEST(Member, AReusedNumberIsAnotherProcess) {
  const TempDir dir;
  const std::string self = std::to_string(::getpid());
  std::filesystem::create_directories(dir / self);
  const auto stat = [&](int start) {
    spill(dir / (self + "/stat"),
          self + " (x) S 1 1 1 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 " + std::to_string(start) + " 1000 25");
  };
  const Fd proc(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  for (const bool keeps_descriptors : {false, true}) {
    stat(99);
    Member member(::getpid());
    ASSERT_TRUE(member.open(proc.get(), buffer, keeps_descriptors));
    EXPECT_TRUE(member.refresh(proc.get(), buffer));
    stat(100);
    EXPECT_FALSE(member.refresh(proc.get(), buffer)) << keeps_descriptors;
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

// Beyond the limit of open files, each file is opened for its reading and closed again.
TEST(ProcessTree, FewDescriptorsDoForManyProcesses) {
  constexpr int kChildren = 60;
  const Worker worker([] {
    const pid_t parent = ::getpid();
    for (int i = 0; i < kChildren; ++i)
      if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (::getppid() == parent) ::pause();  // it may have ended before
        ::_exit(0);
      }
  });
  worker.wait_until_done();
  const pid_t watcher = ::fork();
  if (watcher == 0) {
    const rlimit few{48, 48};
    ::setrlimit(RLIMIT_NOFILE, &few);
    Following following;
    if (!following.tree.follow(worker.pid, false)) ::_exit(2);
    following.tick();
    ::_exit(following.tree.children() == kChildren && following.tree.has_io() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(watcher, &status, 0);
  EXPECT_EQ(status, 0);
  worker.end();
}

// A cgroup lists only its own processes; those of a service are often one level further down.
TEST(ProcessTree, ACgroupsMembersAreAlsoThoseBelow) {
  const TempDir folder;
  std::filesystem::create_directories(folder / "slice/service");
  const Worker above([] {}), below([] {}), late([] {});
  const auto list = [&](const std::string& path, const Worker& worker) {
    spill(folder / (path + "cgroup.procs"), std::to_string(worker.pid) + "\n");
  };
  list("", above);
  list("slice/service/", below);
  Following following;
  following.tree.follow_cgroup(folder.path());
  EXPECT_TRUE(following.tree.contains(above.pid));
  EXPECT_TRUE(following.tree.contains(below.pid));
  std::filesystem::create_directories(folder / "slice/new");
  list("slice/new/", late);
  following.tick();
  EXPECT_TRUE(following.tree.contains(late.pid));
  EXPECT_EQ(following.tree.children(), 3);
  for (const Worker* worker : {&late, &below, &above}) worker->end();  // the later ones hold the pipes of the earlier
}

TEST(ProcessTree, AStrangerIsNoMember) {
  Following following;
  EXPECT_FALSE(following.tree.follow(4'000'000, false));
  EXPECT_FALSE(following.tree.contains(::getpid()));
}

}  // namespace
}  // namespace tacho
