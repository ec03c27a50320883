#include "net/http/iso_date.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

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
  for (const char* bad : {"", "2026", "2026-11-15", "2026-02-30T00:00:00Z", "2026-11-15T25:00:00Z", "2026-11-15T09:30:00.Z", "2026-11-15T09:30:00+1",
                          "2026-11-15T09:30:00 soon", "9999-12-31T00:00:00Z", "15 Nov 2026"}) {
    EXPECT_EQ(parse_iso_date_ns(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tacho
