#include "probe/tree/process_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/clock.h"

namespace tacho {
namespace {

TEST(ProcessList, SharesAreOfTheTimeBetweenTwoLooks) {
  ProcessList list("/proc");
  const pid_t own = ::getpid();
  const int64_t start_ns = system_clock().monotonic_ns();
  ASSERT_TRUE(list.update(std::span(&own, 1), start_ns));
  ASSERT_EQ(list.processes().size(), 1u);
  EXPECT_EQ(list.processes()[0].pid, own);
  EXPECT_EQ(list.processes()[0].parent, ::getppid());
  EXPECT_LT(list.processes()[0].cpu_cores, 0);  // nothing is known of one that is new
  EXPECT_GT(list.processes()[0].rss_bytes, 0);
  EXPECT_NE(list.processes()[0].name.find("_test"), std::string::npos) << list.processes()[0].name;
  const int64_t cpu_ns = thread_cpu_ns();
  while (thread_cpu_ns() - cpu_ns < 20'000'000) {}
  ASSERT_TRUE(list.update(std::span(&own, 1), start_ns + 40'000'000));
  EXPECT_GE(list.processes()[0].cpu_cores, 0.5);
}

TEST(ProcessList, HasEveryProcessAndForgetsWhoEnded) {
  ProcessList list("/proc");
  ASSERT_TRUE(list.update({}, 1));
  EXPECT_GE(list.processes().size(), 2u);
  const pid_t nobody = 0x7FFFFFFF;
  ASSERT_TRUE(list.update(std::span(&nobody, 1), 2));
  EXPECT_TRUE(list.processes().empty());
}

TEST(ProcessList, WithoutProcThereIsNone) { EXPECT_FALSE(ProcessList("/nonexistent").update({}, 1)); }

}  // namespace
}  // namespace tacho
