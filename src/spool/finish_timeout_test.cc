#include "spool/finish_timeout.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tacho {
namespace {

std::optional<int64_t> timeout_of(const char* text) {
  ::setenv(kFinishTimeoutVariable, text, 1);
  const auto timeout = finish_timeout_ns();
  ::unsetenv(kFinishTimeoutVariable);
  return timeout;
}

TEST(FinishTimeout, IsANumberOfSecondsAndAtMostADay) {
  EXPECT_EQ(timeout_of("1.5"), 1'500'000'000);
  EXPECT_EQ(timeout_of("0"), 0);
  EXPECT_EQ(timeout_of("1e9"), 86'400'000'000'000);
  for (const char* none : {"", "-1", "soon", "nan"}) EXPECT_EQ(timeout_of(none), std::nullopt) << none;
}

}  // namespace
}  // namespace tacho
