#include "katib/collect/state_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr int kNobodyStops = -1;
constexpr int64_t kLongWaitNs = 60'000'000'000;

TEST(StateLock, SecondOneIsRefusedWhileTheFirstLives) {
  const TempDir folder;
  const std::string state = folder / "state";
  const auto first = StateLock::take(state, 0, kNobodyStops);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->held());
  const auto second = StateLock::take(state, 0, kNobodyStops);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::io);
  EXPECT_NE(second.error().message().find("another collector"), std::string::npos) << second.error().message();
  EXPECT_TRUE(StateLock::take(folder / "other", 0, kNobodyStops)) << "another state is another lock";
}

// A restarted sidecar: the one before is still sending, then ends.
TEST(StateLock, SecondOneWaitsForTheEndOfTheFirst) {
  const TempDir folder;
  auto first = StateLock::take(folder / "state", 0, kNobodyStops);
  ASSERT_TRUE(first);
  std::jthread end([&] {
    ::usleep(100'000);
    *first = StateLock();
  });
  const auto second = StateLock::take(folder / "state", kLongWaitNs, kNobodyStops);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->held());
}

TEST(StateLock, KilledOneHoldsNothing) {
  const TempDir folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = StateLock::take(folder / "state", 0, kNobodyStops);
    if (held && held->held() && ::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  EXPECT_FALSE(StateLock::take(folder / "state", 0, kNobodyStops));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto next = StateLock::take(folder / "state", 0, kNobodyStops);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->held());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(StateLock, WhoeverIsAskedToEndDoesNotWait) {
  const TempDir folder;
  const auto first = StateLock::take(folder / "state", 0, kNobodyStops);
  int stop[2];
  ASSERT_EQ(::pipe(stop), 0);
  ASSERT_EQ(::write(stop[1], "x", 1), 1);
  const auto second = StateLock::take(folder / "state", kLongWaitNs, stop[0]);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("asked to end"), std::string::npos);
  ::close(stop[0]);
  ::close(stop[1]);
}

// What the trainer put under that name is neither followed nor waited for; the collector goes on without a lock.
TEST(StateLock, StrangersUnderItsName) {
  const TempDir folder;
  ASSERT_EQ(::symlink((folder / "victim").c_str(), (folder / "a.lock").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder / "b.lock").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir((folder / "c.lock").c_str(), 0700), 0);
  std::ofstream(folder / "precious") << "x";
  ASSERT_EQ(::link((folder / "precious").c_str(), (folder / "d.lock").c_str()), 0);
  for (const char* name : {"a", "b", "c", "d"}) {
    const auto lock = StateLock::take(folder / name, 0, kNobodyStops);
    ASSERT_TRUE(lock) << name;
    EXPECT_FALSE(lock->held()) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "victim"));
  const auto none = StateLock::take("", 0, kNobodyStops);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->held());
}

}  // namespace
}  // namespace tacho
