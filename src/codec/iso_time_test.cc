#include "codec/iso_time.h"

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
  for (const char* text : {"", "2026-11-15", "2026-11-15T09:30:00Z", "2026-13-15T09:30:00.250Z", "2026-02-30T09:30:00.250Z",
                           "2026-11-15T24:30:00.250Z", "2026-11-15 09:30:00.250Z", "2026-11-15T09:30:00.250z",
                           "+026-11-15T09:30:00.250Z", "9999-11-15T09:30:00.250Z", "1900-11-15T09:30:00.250Z"})
    EXPECT_FALSE(parse_iso_time(text)) << text;
}

}  // namespace
}  // namespace tacho
