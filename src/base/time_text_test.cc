#include "base/time_text.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(IsoTime, WritesUtcWithMilliseconds) {
  EXPECT_EQ(IsoTime(0).view(), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(IsoTime(1'794'735'000'250'999'999).view(), "2026-11-15T09:30:00.250Z");
  EXPECT_EQ(IsoTime(1'709'164'800'000'000'000).view(), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(IsoTime(1'794'735'000'250'000'000).date(), "2026-11-15");
}

TEST(IsoTime, ReadsBackWhatItWrote) {
  for (const int64_t ns : {int64_t{0}, int64_t{1'794'735'000'250'000'000}, int64_t{4'102'444'799'999'000'000}})
    EXPECT_EQ(parse_iso_time(IsoTime(ns).view()), ns);
}

TEST(IsoTime, RefusesAnythingElse) {
  for (const char* text :
       {"", "2026-11-15", "2026-11-15T09:30:00Z", "2026-13-15T09:30:00.250Z", "2026-02-30T09:30:00.250Z",
        "2026-11-15T24:30:00.250Z", "2026-11-15 09:30:00.250Z", "2026-11-15T09:30:00.250z", "+026-11-15T09:30:00.250Z",
        "9999-11-15T09:30:00.250Z", "1900-11-15T09:30:00.250Z"})
    EXPECT_FALSE(parse_iso_time(text)) << text;
}

TEST(IsoDate, ReadsWhatServicesWrite) {
  constexpr int64_t kTime = 1'794'735'000'000'000'000;
  EXPECT_EQ(parse_iso_date_ns("2026-11-15T09:30:00Z"), kTime);
  EXPECT_EQ(parse_iso_date_ns("2026-11-15T09:30:00+00:00"), kTime);
  EXPECT_EQ(parse_iso_date_ns("2026-11-15T10:30:00+01:00"), kTime);
  EXPECT_EQ(parse_iso_date_ns("2026-11-15T04:00:00-0530"), kTime);
  EXPECT_EQ(parse_iso_date_ns("2026-11-15 09:30:00"), kTime);
  EXPECT_EQ(parse_iso_date_ns("2026-11-15T09:30:00.25Z"), kTime + 250'000'000);
  EXPECT_EQ(parse_iso_date_ns("2026-11-15T09:30:00.1234567891234+00:00"), kTime + 123'456'789);
  EXPECT_EQ(parse_iso_date_ns("1970-01-01T00:00:00Z"), 0);
  for (const char* bad :
       {"", "2026", "2026-11-15", "2026-02-30T00:00:00Z", "2026-11-15T25:00:00Z", "2026-11-15T09:30:00.Z",
        "2026-11-15T09:30:00+1", "2026-11-15T09:30:00 soon", "9999-12-31T00:00:00Z", "15 Nov 2026"}) {
    EXPECT_EQ(parse_iso_date_ns(bad), std::nullopt) << bad;
  }
}

TEST(TimeText, TheOtherFormsAgree) {
  constexpr int64_t kTime = 1'794'735'000'250'001'999;
  EXPECT_EQ(format_seconds(kTime), "2026-11-15T09:30:00Z");
  EXPECT_EQ(format_microseconds(kTime), "2026-11-15T09:30:00.250001Z");
  EXPECT_EQ(compact_utc(kTime), "20261115T093000Z");
  EXPECT_EQ(parse_compact_utc(compact_utc(kTime) + "-123-abc"), kTime / 1'000'000'000);
  for (const char* bad :
       {"", "20261115T093000", "20261115 093000Z", "2026111xT093000Z", "20261315T093000Z", "20261115T243000Z"})
    EXPECT_EQ(parse_compact_utc(bad), std::nullopt) << bad;
}

TEST(TimeText, GoesTowardsThePastBefore1970) {
  EXPECT_EQ(format_microseconds(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_seconds(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(IsoTime(-1).view(), "1969-12-31T23:59:59.999Z");
}

TEST(TimeText, KnowsTheCalendar) {
  EXPECT_EQ(days_since_1970(1970, 1, 1), 0);
  EXPECT_EQ(days_since_1970(2024, 2, 29), 19'782);
  EXPECT_EQ(days_since_1970(2026, 2, 29), std::nullopt);
  EXPECT_EQ(days_since_1970(2026, 11, -255), std::nullopt);
  EXPECT_EQ(days_since_1970(2026, 257, 1), std::nullopt);
  char text[kUtcLength];
  for (const auto& [seconds, expected] :
       {std::pair(kFirstUtcSecond, "0000-01-01T00:00:00"), std::pair(kLastUtcSecond, "9999-12-31T23:59:59")}) {
    put_utc(text, seconds);
    EXPECT_EQ(std::string_view(text, kUtcLength), expected);
  }
}

TEST(TimeText, AsDateWritesIt) {
  constexpr int64_t kTime = 1'794'735'000'000'000'000;
  EXPECT_EQ(DateText(0).view(), "Thu Jan  1 00:00:00 UTC 1970");
  EXPECT_EQ(DateText(kTime).view(), "Sun Nov 15 09:30:00 UTC 2026");
}

TEST(TimeText, LocalTimeWithMilliseconds) {
  constexpr int64_t kTime = 1'794'735'000'250'000'000;
  const std::string text = local_milliseconds(kTime);
  ASSERT_EQ(text.size(), 23u);
  EXPECT_EQ(text.substr(19), ".250");
  EXPECT_EQ(text.substr(0, 19), local_time_text(kTime).substr(0, 19));
  EXPECT_EQ(local_milliseconds(0), "");
}

}  // namespace
}  // namespace tacho
