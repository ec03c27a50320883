#include "probe/steady_level.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(SteadyLevel, MovesByStepsAndShowsTheirDigits) {
  SteadyLevel level;
  constexpr int64_t kUnit = 1000;  // shown with three decimals
  EXPECT_EQ(level.show(123'456, 123, kUnit, false), 123'456) << "the first is as read";
  EXPECT_EQ(level.show(123'456 + 122, 123, kUnit, false), 123'456);
  EXPECT_EQ(level.show(123'456 + 123, 123, kUnit, false), 123'600);
  EXPECT_EQ(level.show(123'478, 123, kUnit, false), 123'600);
  EXPECT_EQ(level.show(123'477, 123, kUnit, false), 123'500);
  EXPECT_EQ(level.show(9'876'543, 9'876, kUnit, false), 9'877'000);
  EXPECT_EQ(level.show(9'876'543, 9'876, kUnit, true), 9'876'543) << "the last is as read";
  EXPECT_EQ(level.show(7, 0, kUnit, false), 7) << "what is small is exact";
}

}  // namespace
}  // namespace tacho
