#include "katib/read/utc_time.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(TimeStamp, TakesWhatTheStoreTakes) {
  for (const char* text :
       {"2026-11-15T09:30:00Z", "2026-11-15T09:30:00.1234567890123456789Z", "2026-11-15T09:30:00+01:00",
        "2026-11-15T09:30:00.5-23:59", "2024-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "2026-11-15T9:30:00Z",
        "2026-11-15T09:30:00,25Z", "2026-11-15T09:30:00+24:60", "0001-01-01T00:00:00Z"})
    EXPECT_TRUE(TimeStamp(text).us()) << text;
}

TEST(TimeStamp, RefusesTheRest) {
  for (const char* text : {"",
                           "2026-11-15",
                           "2026-11-15T09:30:00",
                           "2026-11-15t09:30:00Z",
                           "2026-11-15T09:30:00z",
                           "2026-11-15 09:30:00Z",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-00T00:00:00Z",
                           "2026-01-01T24:00:00Z",
                           "2026-01-01T23:60:00Z",
                           "2026-01-01T23:59:60Z",
                           "2026-01-01T23:59:59.Z",
                           "2026-01-01T23:59:59Zx",
                           "2026-01-01T23:59:59+0100",
                           "2026-01-01T23:59:59+25:00",
                           "2026-01-01T23:59:59+01:61",
                           "26-01-01T23:59:59Z",
                           "2026-1-01T23:59:59Z",
                           "2026-01-01T23:5:59Z",
                           "2026-01-01T23:59:5Z",
                           "2026-01-01T23:59:59+01:0",
                           "1700-02-29T00:00:00Z"})
    EXPECT_FALSE(TimeStamp(text).us()) << text;
}

TEST(TimeStamp, WritesUtc) {
  EXPECT_EQ(utc_microseconds(0, 0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(utc_microseconds(1'638'422'847, 123'456'789), "2021-12-02T05:27:27.123456Z");
  EXPECT_EQ(utc_shortest(1'638'422'847, 5), "2021-12-02T05:27:27.000000005Z");
  EXPECT_EQ(utc_shortest(1'638'422'847, 500'000'000), "2021-12-02T05:27:27.5Z");
  EXPECT_EQ(utc_shortest(1'638'422'847, 0), "2021-12-02T05:27:27Z");
  EXPECT_EQ(utc_shortest(-1, 0), "1969-12-31T23:59:59Z");
  EXPECT_EQ(utc_shortest(951'782'400, 0), "2000-02-29T00:00:00Z");
  EXPECT_EQ(utc_shortest(0, 2'500'000'000), "1970-01-01T00:00:02.5Z");
  EXPECT_EQ(utc_shortest(0, -1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(utc_shortest(253'402'300'799, 999'999'999), "9999-12-31T23:59:59.999999999Z");
  EXPECT_EQ(utc_shortest(-62'167'219'200, 0), "0000-01-01T00:00:00Z");
  // The number that goes along is what the text says.
  for (const auto& [seconds, nanoseconds] :
       {std::pair<int64_t, int64_t>{1'638'422'847, 5}, {-1, 0}, {0, 2'500'000'000}, {0, -1}, {-3, 1'999'999'999}})
    for (const auto& stamp : {utc_shortest(seconds, nanoseconds), utc_microseconds(seconds, nanoseconds)})
      EXPECT_EQ(stamp->us(), parse_time_stamp_us(stamp->text())) << stamp->text();
}

TEST(TimeStamp, HasNoYearOfFiveDigits) {
  EXPECT_FALSE(utc_shortest(253'402'300'800, 0));
  EXPECT_FALSE(utc_shortest(253'402'300'799, 1'000'000'000));
  EXPECT_FALSE(utc_shortest(INT64_MAX, INT64_MAX));
  EXPECT_FALSE(utc_microseconds(INT64_MIN, INT64_MIN));
}

TEST(ArrivalTimes, NeverRepeatAndNeverGoBack) {
  int64_t now_ns = 1'000'000'000;
  ArrivalTimes times([&] { return now_ns; });
  EXPECT_EQ(times.next(), "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(times.next(), "1970-01-01T00:00:01.000001Z");
  now_ns = 0;
  EXPECT_EQ(times.next(), "1970-01-01T00:00:01.000002Z");
  now_ns = 3'000'000'500;
  EXPECT_EQ(times.next(), "1970-01-01T00:00:03.000000Z");
}

}  // namespace
}  // namespace tacho
