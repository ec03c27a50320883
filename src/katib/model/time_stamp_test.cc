#include "katib/model/time_stamp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

namespace tacho {
namespace {

std::string round(std::string_view text) {
  const auto us = parse_time_stamp_us(text);
  if (!us) return "refused";
  return std::string(TimeStampText(*us).wire());
}

TEST(TimeStamp, TurnsAnyZoneIntoUtc) {
  EXPECT_EQ(round("2016-12-31T20:01:05.123456Z"), "2016-12-31T20:01:05.123456Z");
  EXPECT_EQ(round("2016-12-31T20:01:05+01:30"), "2016-12-31T18:31:05Z");
  EXPECT_EQ(round("2016-12-31T20:01:05-05:00"), "2017-01-01T01:01:05Z");
  EXPECT_EQ(round("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00Z");
  EXPECT_EQ(round("9999-12-31T23:59:59.9999999Z"), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(round("2024-02-29T00:00:00Z"), "2024-02-29T00:00:00Z");
}

// The usual form has a short way; another zone of the same meaning has not.
TEST(TimeStamp, TheShortWayFindsTheSame) {
  std::mt19937 random(15);
  const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  int good = 0;
  for (int i = 0; i < 200'000; ++i) {
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", any(10'000), any(14), any(33), any(25),
                  any(61), any(61), any(1'000'000));
    std::string usual = text;
    if (i % 4 == 0) usual[static_cast<size_t>(any(27))] = "0189:-.TZ,+ \xff"[any(13)];
    const auto found = parse_time_stamp_us(usual);
    good += found.has_value() ? 1 : 0;
    if (usual.back() != 'Z') continue;
    EXPECT_EQ(found, parse_time_stamp_us(usual.substr(0, usual.size() - 1) + "+00:00")) << usual;
  }
  EXPECT_GT(good, 50'000);
}

TEST(TimeStamp, CutsBehindTheMicrosecondAlsoBefore1970) {
  EXPECT_EQ(round("2016-12-31T20:01:05.1234569Z"), "2016-12-31T20:01:05.123456Z");
  EXPECT_EQ(round("1960-01-01T00:00:00.0000019Z"), "1960-01-01T00:00:00.000001Z");
  EXPECT_EQ(round("2016-12-31T20:01:05.100000000000000000000Z"), "2016-12-31T20:01:05.1Z");
}

TEST(TimeStamp, TakesWhatGoTakes) {
  EXPECT_EQ(round("2016-12-31T5:01:05Z"), "2016-12-31T05:01:05Z");
  EXPECT_EQ(round("2016-12-31T20:01:05,5Z"), "2016-12-31T20:01:05.5Z");
  EXPECT_EQ(round("2016-12-31T20:01:05+24:00"), "2016-12-30T20:01:05Z");
}

TEST(TimeStamp, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "Z",
                           "2016-12-31",
                           "2016-12-31T20:01:05",
                           "2016-12-31 20:01:05Z",
                           "2016-12-31t20:01:05Z",
                           "2016-12-31T20:01:05z",
                           "2016-13-01T00:00:00Z",
                           "2016-02-30T00:00:00Z",
                           "2023-02-29T00:00:00Z",
                           "2016-12-31T24:00:00Z",
                           "2016-12-31T20:60:05Z",
                           "2016-12-31T20:01:60Z",
                           "2016-12-31T20:01:05.Z",
                           "2016-12-31T20:01:05+0100",
                           "2016-12-31T20:01:05+01:00x",
                           "2016-12-31T20:01:05Z ",
                           " 2016-12-31T20:01:05Z",
                           "12016-12-31T20:01:05Z",
                           "-016-12-31T20:01:05Z",
                           "0000-01-01T00:00:00+01:00",
                           "9999-12-31T23:59:59-01:00",
                           "1479200000"}) {
    EXPECT_EQ(parse_time_stamp_us(text), std::nullopt) << text;
  }
}

TEST(TimeStamp, SortableTextSortsAndComesBack) {
  const int64_t early = *parse_time_stamp_us("0001-01-01T00:00:00Z");
  const int64_t late = *parse_time_stamp_us("2026-11-15T09:30:00.25Z");
  TimeStampText a(early), b(late);
  EXPECT_EQ(b.sortable(), "2026-11-15 09:30:00.250000");
  EXPECT_LT(a.sortable(), b.sortable());
  EXPECT_EQ(parse_sortable_us(a.sortable()), early);
  EXPECT_EQ(parse_sortable_us(b.sortable()), late);
  EXPECT_EQ(parse_sortable_us("2026-11-15 09:30:00.25"), std::nullopt);
  EXPECT_EQ(parse_sortable_us("2026-11-15 09:30:00.25000Z"), std::nullopt);
}

// The text stays byte for byte whatever its length, and what it means is known without reading it again.
TEST(TimeStamp, KeepsItsTextAndItsMeaning) {
  std::minstd_rand dice(7);
  const std::string_view letters = "0123456789-:TZ.+,";
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string text(TimeStampText(static_cast<int64_t>(dice()) * 1'000'003).wire());
    for (auto i = dice() % 3; i > 0; --i) text[dice() % text.size()] = letters[dice() % letters.size()];
    if (dice() % 4 == 0) text.insert(std::min<size_t>(text.size(), 20), std::string(dice() % 60, '5'));
    const TimeStamp stamp(text), copy = stamp;
    ASSERT_EQ(stamp.text(), text);
    ASSERT_EQ(stamp.us(), parse_time_stamp_us(text)) << text;
    ASSERT_EQ(copy, stamp);
    ASSERT_EQ(copy.us(), stamp.us());
  }
  EXPECT_FALSE(TimeStamp().us());
  EXPECT_TRUE(TimeStamp().empty());
}

TEST(TimeStamp, WhatIsMadeOfANumberReadsAsThatNumber) {
  EXPECT_EQ(TimeStamp::at(1'700'000'000'250'000).text(), "2023-11-14T22:13:20.250000Z");
  for (const int64_t time_us :
       {int64_t{0}, int64_t{-1}, int64_t{1'700'000'000'000'001}, int64_t{-62'135'596'800'000'000}}) {
    EXPECT_EQ(TimeStamp::at(time_us).us(), time_us);
    EXPECT_EQ(parse_time_stamp_us(TimeStamp::at(time_us).text()), time_us);
  }
}

// Texts that follow each other, in the same second and not, damaged and not: as if each stood alone.
TEST(TimeStampParser, IsTheSameAsOneByOne) {
  std::mt19937 random(3);
  TimeStampParser parser;
  std::string text = "2026-11-15T09:30:00.250000Z";
  const std::string letters = "0123456789.,:-+TZ ";
  int times = 0, same_second = 0;
  for (int i = 0; i < 200'000; ++i) {
    switch (random() % 8) {
      case 0: text = "2026-11-15T09:30:0" + std::to_string(random() % 10) + ".250000Z"; break;
      case 1: text = "2026-11-15T09:30:00.5+0" + std::to_string(random() % 10) + ":00"; break;
      case 2: text = "2026-02-3" + std::to_string(random() % 3) + "T09:30:00.1Z"; break;
      case 3: text[random() % text.size()] = letters[random() % letters.size()]; break;
      case 4: text = "2026-11-15T9:30:00." + std::to_string(random()) + "Z"; break;
      default:
        text = "2026-11-15T09:30:00." + std::to_string(random()).substr(0, 1 + random() % 10) + "Z";
        ++same_second;
    }
    const auto alone = parse_time_stamp_us(text);
    ASSERT_EQ(parser.parse_us(text), alone) << text;
    times += alone.has_value();
  }
  EXPECT_GT(times, same_second);
}

}  // namespace
}  // namespace tacho
