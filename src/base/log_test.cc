#include "base/log.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Log, HeldMessagesAreHandedOverOrPrintedAtTheEnd) {
  testing::internal::CaptureStderr();
  log::hold();
  log::error("first");
  log::warn("log_test: second");
  EXPECT_TRUE(log::holds_any());
  EXPECT_EQ(log::take(), (std::vector<std::string>{"first", "log_test: second"}));
  EXPECT_FALSE(log::holds_any());
  log::error("third");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing between two rows";
  testing::internal::CaptureStderr();
  log::release();
  log::error("fourth");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tacho: third\ntacho: fourth\n");
  EXPECT_FALSE(log::holds_any());
}

TEST(Log, HoldsNoMoreThanAHundred) {
  log::hold();
  for (int i = 0; i < 250; ++i) log::error(std::string(10'000, 'x'));
  const std::vector<std::string> lines = log::take();
  EXPECT_EQ(lines.size(), 101u);
  EXPECT_LT(lines[0].size(), 4000u);
  EXPECT_EQ(lines.back(), "150 more messages were dropped");
  log::release();
}

}  // namespace
}  // namespace tacho
