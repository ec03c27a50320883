// Who ended lately, by what the kernel told; and the tree that is told.
#include "probe/tree/exit_records.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "os/process.h"
#include "probe/tree/process_observer.h"
#include "probe/tree/tree_test_support.h"

namespace tacho {
namespace {

TaskExit ended(pid_t task, pid_t process, bool last, int64_t cpu_ns) {
  TaskExit exit;
  exit.task = task, exit.process = process, exit.parent = 1, exit.last = last, exit.cpu_ns = cpu_ns;
  return exit;
}

TEST(ExitRecords, AddUpTheThreadsOfAProcess) {
  ExitRecords records;
  records.add(ended(12, 10, false, 5));
  records.add(ended(13, 10, false, 7));
  records.add(ended(21, 20, false, 100));
  EXPECT_FALSE(records.take(10, 0)) << "it has not ended";
  records.add(ended(10, 10, true, 1));
  const auto told = records.take(10, 0);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->cpu_ns, 13);
  EXPECT_FALSE(records.take(10, 0)) << "taken";
}

TEST(ExitRecords, AreForgottenAfterTheNextTick) {
  ExitRecords records;
  records.add(ended(10, 10, true, 1));
  records.end_tick();
  EXPECT_EQ(records.processes().size(), 1u);
  records.end_tick();
  EXPECT_TRUE(records.processes().empty());
}

TEST(ExitRecords, AreBounded) {
  ExitRecords records;
  for (pid_t pid = 1; pid <= 20'000; ++pid) records.add(ended(pid, pid, true, 1));
  EXPECT_LE(records.processes().size(), 8192u);
  EXPECT_TRUE(records.lost_some());
}

TEST(ExitRecords, AnOlderProcessOfTheSameNumberIsAnother) {
  EndedProcess process;
  process.exit.lived_ns = 5'000'000'000;
  process.after_ticks = 1000, process.before_ticks = 1100;
  EXPECT_TRUE(process.was_started_at(550));
  EXPECT_FALSE(process.was_started_at(1050)) << "it lived for five seconds before";
  EXPECT_FALSE(process.was_started_at(10));
}

// Needs CAP_NET_ADMIN, and no PID namespace.
TEST(ExitRecords, NameWhoLivedBetweenTwoTicks) {
  auto messages = ExitMessages::open();
  if (!messages) GTEST_SKIP() << messages.error().message();
  struct Told final : ProcessObserver {
    void came(Member&) override {}
    void ended(Member&, const ProcessEnd&) override {}
    void passed(const TaskExit& exit) override { statuses.push_back(exit.status); }
    std::vector<int> statuses;
  } told;
  const Flag go;
  const Worker worker([&] {
    go.wait();
    for (int i = 1; i <= 5; ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(i);
      ::waitpid(child, nullptr, 0);
    }
  });
  Following following;
  following.tree.listen(std::make_unique<ExitRecords>(std::move(*messages)));
  following.tree.observe(&told);
  ASSERT_TRUE(following.tree.follow(worker.pid, false));
  following.tree.begin(following.now_ns);
  const pid_t stranger = ::fork();
  if (stranger == 0) ::_exit(9);
  ::waitpid(stranger, nullptr, 0);
  go.raise();
  worker.wait_until_done();
  following.tick();
  std::vector<int> expected;
  for (int i = 1; i <= 5; ++i) expected.push_back(i << 8);
  EXPECT_EQ(told.statuses, expected);
  EXPECT_EQ(following.tree.processes_ended(), 5);
  worker.end();
  following.tick();
  EXPECT_EQ(following.tree.unwaited(), 0) << "the kernel told how it ended";
}

}  // namespace
}  // namespace tacho
