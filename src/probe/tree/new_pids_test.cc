// Which numbers are looked at: those behind the last one, and all processes where that cannot be relied on.
#include "probe/tree/new_pids.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>

#include "base/units.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

bool has(const std::vector<pid_t>& pids, pid_t pid) { return std::find(pids.begin(), pids.end(), pid) != pids.end(); }

TEST(NewPids, LooksAtNewNumbersOnly) {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  NewPids numbers("/proc");
  std::vector<pid_t> pids;
  int64_t now_ns = kNsPerSec;
  EXPECT_TRUE(numbers.collect(proc.get(), buffer, 100, now_ns, false, pids)) << "all at first";
  EXPECT_TRUE(has(pids, ::getpid()));
  EXPECT_TRUE(numbers.collect(proc.get(), buffer, 100, now_ns += 2 * kNsPerSec, false, pids))
      << "and until a second passed";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const bool all = numbers.collect(proc.get(), buffer, 101, now_ns += 2 * kNsPerSec, false, pids);
  EXPECT_TRUE(has(pids, child));
  ::waitpid(child, nullptr, 0);
  if (all) GTEST_SKIP() << "the numbers began anew, or very many were given out";
  EXPECT_FALSE(has(pids, ::getpid()));
  EXPECT_TRUE(numbers.collect(proc.get(), buffer, -1, now_ns += 2 * kNsPerSec, false, pids)) << "forks are not known";
  EXPECT_TRUE(numbers.collect(proc.get(), buffer, 200, now_ns += 2 * kNsPerSec, true, pids)) << "asked for";
  EXPECT_TRUE(has(pids, ::getpid()));
}

// Many that are gone, and some that are not, beside a plain look at all of /proc.
TEST(NewPids, AmongManyNumbersWhoIsThereIsListed) {
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  NewPids numbers("/proc");
  std::vector<pid_t> pids, living;
  int64_t now_ns = kNsPerSec, forks = 100;
  for (int i = 0; i < 3; ++i) numbers.collect(proc.get(), buffer, forks, now_ns += 2 * kNsPerSec, false, pids);
  std::mt19937 chance(17);
  pid_t oldest = 0;
  bool all = false;
  for (int i = 0; i < 60; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    ++forks;
    if (oldest == 0) oldest = child;
    if (chance() % 4 == 0) {
      living.push_back(child);
      continue;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (chance() % 16 != 0) continue;
    all = numbers.collect(proc.get(), buffer, forks, now_ns, false, pids) || all;
    for (const pid_t pid : living) EXPECT_TRUE(all || has(pids, pid)) << pid;
  }
  all = numbers.collect(proc.get(), buffer, forks, now_ns, false, pids) || all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    const pid_t pid = name.find_first_not_of("0123456789") == std::string::npos ? std::stoi(name) : 0;
    const bool is_new = pid >= oldest && pid <= living.back();
    EXPECT_TRUE(!is_new || all || has(pids, pid)) << pid;
  }
  for (const pid_t pid : living) ::kill(pid, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0) {}
  if (all) GTEST_SKIP() << "the numbers began anew, or very many were given out";
  EXPECT_LT(pids.size(), living.size() + 40) << "who is gone is not asked for";
}

// 0: a child with that number; below 0 where numbers cannot be chosen.
pid_t fork_with_number(pid_t number) {
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size;
  } arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<uint64_t>(&number);
  arguments.set_tid_size = 1;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

// It is in nobody's list once its parent has ended, and behind no number that is known.
TEST(NewPids, ANumberThatWasChosenIsLookedAt) {
  if (read_link("/proc/self/ns/pid") != "pid:[4026531836]") GTEST_SKIP() << "the count of forks is of other processes";
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  NewPids numbers("/proc");
  std::vector<pid_t> pids;
  const pid_t used = ::fork();
  if (used == 0) ::_exit(0);
  ::waitpid(used, nullptr, 0);
  int64_t now_ns = kNsPerSec;
  for (int i = 0; i < 3; ++i) numbers.collect(proc.get(), buffer, 100, now_ns += 2 * kNsPerSec, false, pids);
  const pid_t chosen = fork_with_number(used);
  if (chosen == 0) {
    for (;;) ::pause();
  }
  if (chosen < 0) GTEST_SKIP() << "only root may choose a number";
  // More than others on this machine were given numbers for meanwhile.
  numbers.collect(proc.get(), buffer, 100'000, now_ns, false, pids);
  EXPECT_TRUE(has(pids, chosen));
  ::kill(chosen, SIGKILL);
  ::waitpid(chosen, nullptr, 0);
}

TEST(NewPids, AFileThatIsNotTheKernelsTellsNothing) {
  const TempDir folder;
  spill(folder / "loadavg", "0.00 0.00 0.00 1/2 77\n");
  spill(folder / "stat", "cpu 1 2 3\n");
  const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ReadBuffer buffer;
  NewPids numbers(folder.path());
  std::vector<pid_t> pids;
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(numbers.collect(proc.get(), buffer, 100 + i, (10 + 2 * i) * kNsPerSec, false, pids));
}

}  // namespace
}  // namespace tacho
