#include "job/job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "discover/cgroups.h"
#include "job/job_cgroup.h"
#include "os/clock.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// Runs to the end as the engine does.
int run(Job& job, const std::vector<std::string>& command) {
  if (const Status status = job.launch({command, "", -1, {}}); !status)
    return status.error().code == Code::denied ? 126 : 127;
  while (!job.handle_events()) system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 10'000'000'000);
  return job.exit() ? shell_status(job.exit()->status) : -1;
}

int run(const std::vector<std::string>& command) {
  Job job({}, {});
  return run(job, command);
}

TEST(Job, EndsWithTheCommandsStatus) {
  EXPECT_EQ(run({"true"}), 0);
  EXPECT_EQ(run({"sh", "-c", "exit 42"}), 42);
  EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}), 137);
}

TEST(Job, TellsNotFoundFromNotExecutable) {
  const TempDir dir;
  spill(dir / "plain", "#!/bin/sh\n");
  EXPECT_EQ(run({"no-such-command-anywhere"}), 127);
  EXPECT_EQ(run({dir / "missing"}), 127);
  EXPECT_EQ(run({dir / "plain"}), 126);
  EXPECT_EQ(run({dir.path()}), 126);
}

TEST(Job, RunsAScriptWithoutAFirstLine) {
  const TempDir dir;
  spill(dir / "script", "exit 7\n");
  std::filesystem::permissions(dir / "script", std::filesystem::perms::owner_all);
  EXPECT_EQ(run({dir / "script"}), 7);
}

TEST(Job, HidesSecretsFromTheJob) {
  ::setenv("SENTINEL_API_TOKEN", "secret", 1);
  ::setenv("SENTINEL_API_KEY", "secret", 1);
  ::setenv("TACHO_TEST_KEPT", "yes", 1);
  EXPECT_EQ(run({"sh", "-c", "test -z \"$SENTINEL_API_TOKEN$SENTINEL_API_KEY\" && test \"$TACHO_TEST_KEPT\" = yes"}),
            0);
  ::unsetenv("SENTINEL_API_TOKEN");
  ::unsetenv("SENTINEL_API_KEY");
}

TEST(Job, TheHookRunsBeforeTheCommand) {
  const TempDir dir;
  Job job({}, {});
  pid_t seen = 0;
  const std::string file = dir / "hook";
  ASSERT_TRUE(job.launch({{"sh", "-c", "test -e " + file}, "", -1, [&](pid_t pid) {
                            seen = pid;
                            spill(file, "x");
                          }}));
  while (!job.handle_events()) system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 10'000'000'000);
  EXPECT_EQ(seen, job.pid());
  EXPECT_EQ(shell_status(job.exit()->status), 0);
}

TEST(Job, ReapsOrphansAndTellsTheirUsage) {
  std::vector<pid_t> reaped;
  Job job([&](const Exit& exit) { reaped.push_back(exit.pid); }, {});
  // The inner shell ends at once, so its child comes to us and ends before the job does.
  EXPECT_EQ(run(job, {"sh", "-c", "sh -c 'sleep 0.05 &'; sleep 0.4"}), 0);
  EXPECT_EQ(reaped.size(), 2u);
  EXPECT_EQ(reaped.back(), job.pid());
}

TEST(Job, AttachesOnlyToWhatIsThere) {
  Job job({}, {});
  EXPECT_FALSE(job.attach(4'000'000));
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  EXPECT_TRUE(job.attach(child));
  ::kill(child, SIGKILL);
  bool ended = false;
  for (int i = 0; i < 100 && !ended; ++i) {
    system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 100'000'000);
    ended = job.handle_events();
  }
  EXPECT_TRUE(ended);
  EXPECT_FALSE(job.exit());
  ::waitpid(child, nullptr, 0);
}

TEST(Job, AThreadIsNoProcess) {
  std::atomic<pid_t> thread_id{0};
  std::atomic<bool> done{false};
  std::thread thread([&] {
    thread_id = ::gettid();
    while (!done) ::usleep(1000);
  });
  while (thread_id == 0) ::usleep(1000);
  Job job({}, {});
  const Status status = job.attach(thread_id);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().hint.find("--pid " + std::to_string(::getpid())), std::string::npos);
  done = true;
  thread.join();
}

TEST(Job, WhatNohupKeepsAwayEndsNoRecording) {
  const auto ended_by_hangup = [] {
    Job job({}, {});
    EXPECT_TRUE(job.attach(::getppid()));
    ::kill(::getpid(), SIGHUP);
    system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 10'000'000'000);
    return job.handle_events();
  };
  const auto before = std::signal(SIGHUP, SIG_DFL);  // these tests may run under nohup themselves
  EXPECT_TRUE(ended_by_hangup());
  std::signal(SIGHUP, SIG_IGN);
  EXPECT_FALSE(ended_by_hangup());
  std::signal(SIGHUP, before);
}

// Runs a command that survives two interrupts; returns whether they count once it has ended, and after two more.
TEST(Job, OnlyInterruptsAfterTheEndSkipTheCleanUp) {
  const auto before = std::signal(SIGINT, SIG_DFL);
  Job job({}, {});
  ASSERT_TRUE(job.launch({{"sh", "-c", "trap '' INT; sleep 0.3"}, "", -1, {}}));
  const auto interrupt = [&] {
    ::kill(::getpid(), SIGINT);
    system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 10'000'000'000);
    job.handle_events();
  };
  interrupt();
  interrupt();
  while (!job.handle_events()) system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 10'000'000'000);
  EXPECT_FALSE(job.in_a_hurry());
  interrupt();
  EXPECT_FALSE(job.in_a_hurry());
  interrupt();
  EXPECT_TRUE(job.in_a_hurry());
  std::signal(SIGINT, before);
}

TEST(Job, NothingIsSentToAReapedCommand) {
  Job job({}, {});
  EXPECT_EQ(run(job, {"true"}), 0);
  job.signal(SIGKILL);  // its number may be another's: were it sent, it would show as an error at least
  EXPECT_EQ(::kill(job.pid(), 0), -1);
}

// As a v1 cgroup is: nothing tells of the end, and the processes may be further down.
TEST(Job, ACgroupEndsWhenTheLastBelowIsGone) {
  const TempDir folder;
  std::filesystem::create_directories(folder / "below");
  spill(folder / "cgroup.procs", "");
  spill(folder / "below/cgroup.procs", "4001\n");
  Job job({}, {});
  ASSERT_TRUE(job.attach_cgroup(folder.path()));
  EXPECT_TRUE(job.must_be_asked());
  job.check_alive();
  EXPECT_FALSE(job.ended());
  spill(folder / "below/cgroup.procs", "");
  job.check_alive();
  EXPECT_TRUE(job.ended());
}

TEST(JobCgroup, HoldsTheJobAndGoesAway) {
  const CgroupPaths own = find_cgroups(Roots{}, 0);
  // An old one of ours, whose tacho is gone, and one that somebody else made.
  const std::string old_one = own.unified + "/tacho-999999999-a1b2", others = own.unified + "/tacho-team";
  ::mkdir(old_one.c_str(), 0755), ::mkdir(others.c_str(), 0755);
  auto group = JobCgroup::create(own.unified);
  const bool has_old_one = ::rmdir(old_one.c_str()) == 0, has_others = ::rmdir(others.c_str()) == 0;
  if (!group) {
    // Without the right to make one, the reason is told.
    EXPECT_FALSE(group.error().what.empty());
    return;
  }
  EXPECT_FALSE(has_old_one);
  EXPECT_TRUE(has_others);
  const std::string path = group->path();
  Job job({}, {});
  ASSERT_TRUE(job.launch({{"sh", "-c", "cat /proc/self/cgroup > /dev/null; exit 3"}, "", group->fd(), {}}));
  while (!job.handle_events()) system_clock().wait(job.poll_set(), system_clock().monotonic_ns() + 10'000'000'000);
  EXPECT_TRUE(job.in_cgroup());
  EXPECT_EQ(shell_status(job.exit()->status), 3);
  EXPECT_TRUE(group->remove());
  EXPECT_FALSE(file_exists(path));
}

// As systemd or a container's runtime does it in there.
TEST(JobCgroup, WhatTheJobMadeInItGoesWithIt) {
  const CgroupPaths own = find_cgroups(Roots{}, 0);
  const std::string stale = own.unified + "/tacho-999999998-a1b2";
  ::mkdir(stale.c_str(), 0755), ::mkdir((stale + "/of-its-job").c_str(), 0755);
  auto group = JobCgroup::create(own.unified);
  if (!group) GTEST_SKIP() << group.error().message();
  EXPECT_FALSE(file_exists(stale));
  const std::string path = group->path();
  ASSERT_EQ(::mkdir((path + "/a").c_str(), 0755) | ::mkdir((path + "/a/b").c_str(), 0755), 0);
  EXPECT_TRUE(group->remove()) << "nobody lives on";
  EXPECT_FALSE(file_exists(path));
}

}  // namespace
}  // namespace tacho
