// Processes with a known life, and a tree that follows them, for the tests of ProcessTree.
#pragma once
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <functional>
#include <vector>

#include "base/units.h"
#include "probe/tree/process_tree.h"

namespace tacho {

// Burns CPU time on the calling thread's own clock.
inline void burn_ms(int64_t ms) {
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
    while (::read(ends[0], &byte, 1) < 0) {}
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
      while (::read(say[0], &done, 1) > 0) {}
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

// A child that sleeps until its parent ends; it is there when this comes back.
inline void fork_sleeper() {
  const Flag forked;
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    forked.raise();
    for (;;) ::pause();
  }
  forked.wait();
}

// A process with this number, which must be free; 0 where that is not allowed (CLONE with set_tid, Linux 5.5).
inline pid_t fork_as(pid_t number) {
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

// A tree, and a clock that goes on by a second with each tick.
struct Following {
  ProbeContext context;
  ProcessTree tree{context};
  int64_t now_ns = kNsPerSec;
  void tick(int64_t forks = -1) {
    context.facts.forks = forks;
    tree.update(now_ns += kNsPerSec);
  }
  // However loaded the machine is.
  bool tick_until(const std::function<bool()>& reached) {
    for (int i = 0; i < 10'000 && !reached(); ++i) {
      ::usleep(1000);
      tick();
    }
    return reached();
  }
  void end(const Worker& worker) const {
    std::vector<pid_t> pids;
    tree.copy(pids);
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    worker.end();
  }
};

}  // namespace tacho
