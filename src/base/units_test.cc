#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace tacho {
namespace {

TEST(Units, NumbersForPeople) {
  EXPECT_EQ(human_number(0), "0");
  EXPECT_EQ(human_number(0.04), "0.04");
  EXPECT_EQ(human_number(3.14159), "3.1");
  EXPECT_EQ(human_number(250), "250");
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(9.8 * 1073741824.0), "9.8 GiB");
}

TEST(Units, ANumberThatNobodyCanReadStaysShort) {
  for (const double value :
       {1e15, 1e200, -1e300, std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity()}) {
    EXPECT_LT(human_number(value).size(), 12u) << value;
    EXPECT_LT(human_bytes(value).size(), 16u) << value;
  }
}

TEST(Units, Durations) {
  EXPECT_EQ(parse_duration_ns("0.25").value_or(0), 250 * kNsPerMs);
  EXPECT_EQ(parse_duration_ns("1h30m").value_or(0), 5400 * kNsPerSec);
  for (const char* bad : {"", "0", "-1", "x", "1x", "nan", "1e9", "s", "1 s", "1s1"})
    EXPECT_FALSE(parse_duration_ns(bad)) << bad;
}

}  // namespace
}  // namespace tacho
