#include "os/thread.h"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <mutex>

#include "os/clock.h"

namespace tacho {
namespace {

struct Box {
  WaitLock wait_lock;
  bool done = false;
  bool term_blocked = false;
};

TEST(DetachedThread, RunsWithSignalsBlocked) {
  auto box = std::make_shared<Box>();
  ASSERT_TRUE(start_detached_thread("tacho-test", [box] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const std::lock_guard lock(box->wait_lock);
    box->term_blocked = sigismember(&mask, SIGTERM) == 1;
    box->done = true;
    box->wait_lock.notify_all();
  }));
  const std::lock_guard lock(box->wait_lock);
  while (!box->done) box->wait_lock.wait();
  EXPECT_TRUE(box->term_blocked);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);  // ours is as it was
}

TEST(WaitLock, GivesUpAtItsDeadline) {
  WaitLock wait_lock;
  const std::lock_guard lock(wait_lock);
  const int64_t deadline_ns = system_clock().monotonic_ns() + 1'000'000;
  while (wait_lock.wait_until(deadline_ns)) {}
  EXPECT_GE(system_clock().monotonic_ns(), deadline_ns);
}

}  // namespace
}  // namespace tacho
