#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

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

TEST(Units, OneRoundingForEveryFigure) {
  const auto text = [](double seconds) { return human_duration(static_cast<int64_t>(seconds * 1e9)); };
  const std::vector<std::pair<double, const char*>> durations{
      {0, "0s"},      {0.00001, "<0.1ms"}, {0.0004, "0.4ms"}, {0.0034, "3.4ms"}, {0.34, "340ms"}, {0.9994, "999ms"},
      {0.9996, "1s"}, {1.25, "1.2s"},      {9.94, "9.9s"},    {9.96, "10s"},     {59.4, "59s"},   {59.6, "1m"},
      {64, "1m04s"},  {300, "5m"},         {3599.6, "1h"},    {3629, "1h"},      {3660, "1h01m"}, {10979, "3h03m"},
      {86399, "1d"},  {187200, "2d04h"},   {-0.5, "-500ms"}};
  for (const auto& [seconds, wanted] : durations) EXPECT_EQ(text(seconds), wanted) << seconds;
  const std::vector<std::pair<double, const char*>> sizes{{0, "0 B"},
                                                          {1023, "1023 B"},
                                                          {1024, "1 KiB"},
                                                          {1023.6 * 1024, "1 MiB"},
                                                          {0x1p35, "32 GiB"},
                                                          {1.26 * 0x1p30, "1.3 GiB"},
                                                          {150.4 * 0x1p20, "150 MiB"}};
  for (const auto& [bytes, wanted] : sizes) EXPECT_EQ(human_bytes(bytes), wanted) << bytes;
  const std::vector<std::pair<double, const char*>> numbers{{0.004, "<0.01"}, {0.005, "0.01"}, {0.0999, "0.1"},
                                                            {0.714, "0.71"},  {0.996, "1"},    {1, "1"},
                                                            {12.34, "12.3"},  {99.96, "100"}};
  for (const auto& [value, wanted] : numbers) EXPECT_EQ(human_number(value), wanted) << value;
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

TEST(Units, SecondsThereAndBack) {
  EXPECT_EQ(as_seconds(1'500'000'000), 1.5);
  EXPECT_EQ(ms_as_seconds(250), 0.25);
  EXPECT_EQ(seconds_by_ms(1'234'999'999), 1.234) << "cut, as in run.json";
  EXPECT_EQ(as_ns(0.1), 100'000'000);
  EXPECT_EQ(as_ns(-1.5), -1'500'000'000);
}

}  // namespace
}  // namespace tacho
