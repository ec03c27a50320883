// Who belongs to the tree, and that nobody is missing from it.
#include "probe/tree/process_tree.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "probe/tree/tree_test_support.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

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
  following.end(worker);
}

// A look between two samples has no count of forks, or an old one: a root that forked and waits since then is not left
// out.
TEST(ProcessTree, AChildOfAWaitingRootIsThereAfterEarlyLooks) {
  Following following;
  following.tree.expect_own_child();
  following.tick(1000);
  const Worker worker([&] { fork_sleeper(); });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  worker.wait_until_done();
  for (int look = 0; look < 5; ++look) {
    ::usleep(2000);
    following.tick();  // between two samples
  }
  EXPECT_EQ(following.tree.children(), 1);
  following.tick(1002);
  EXPECT_EQ(following.tree.children(), 1);
  following.end(worker);
}

// The count is taken at its word only when it was seen to move: elsewhere than in the kernel's own /proc it may be made
// up.
TEST(ProcessTree, ACountOfForksThatNeverMovesIsNotBelieved) {
  Flag go;
  Following following;
  following.tree.expect_own_child();
  const Worker worker([&] {
    go.wait();
    fork_sleeper();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  for (int i = 0; i < 3; ++i) following.tick(7);
  go.raise();
  worker.wait_until_done();
  following.tick(7);
  EXPECT_EQ(following.tree.children(), 1);
  following.end(worker);
}

// A number may be chosen (CRIU does), and is then no sign of what is new: the parent's list has it at once.
TEST(ProcessTree, AChildWithAChosenNumberIsThereAtOnce) {
  Following following;
  following.tree.expect_own_child();
  Flag go;
  const pid_t free_number = [] {  // one that was given before, and is nobody's now
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    ::waitpid(pid, nullptr, 0);
    return pid;
  }();
  const Worker worker([&] {
    go.wait();
    if (fork_as(free_number) == 0) fork_sleeper();
  });
  ASSERT_TRUE(following.tree.follow(worker.pid, true));
  int64_t forks = 1000;
  for (int i = 0; i < 5; ++i) following.tick(++forks);
  EXPECT_EQ(following.tree.children(), 0);
  go.raise();
  worker.wait_until_done();
  following.tick(++forks);
  EXPECT_EQ(following.tree.children(), 1);
  following.end(worker);
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
  for (int i = 0; i < 5; ++i) following.tick(++forks);  // the numbers of the last seconds are known by now
  EXPECT_EQ(following.tree.children(), 1);
  go.raise();
  forked.wait();
  ::usleep(50'000);
  following.tick(++forks);
  EXPECT_EQ(following.tree.children(), 2);
  following.end(worker);
}

// A thread that forked and ended has given its child to another one; none of them is asked for its number of threads
// before.
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
  following.end(worker);
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
