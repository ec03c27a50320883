#include "deliver/batch_uploader.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kServerTime_ns = 1'794'751'200 * kNsPerSec, kTaken_ns = 7 * kNsPerSec;

class CredentialsLife : public testing::Test {
 protected:
  // Seconds from now until a batch needs fresh ones, and until they are renewed without a batch.
  std::pair<int64_t, int64_t> times(int64_t life_s, bool renewed) {
    AwsCredentials given;
    given.access_key = given.secret_key = "x";
    given.expires_realtime_ns = kServerTime_ns + life_s * kNsPerSec;
    uploader_.take(given, kServerTime_ns, kTaken_ns, renewed);
    return {std::max<int64_t>(0, uploader_.refresh_at_ns() - kTaken_ns) / kNsPerSec,
            (uploader_.renew_idle_at_ns() - kTaken_ns) / kNsPerSec};
  }

  HttpClient http_;
  BatchUploader uploader_{http_};
};

TEST_F(CredentialsLife, AreRenewedFiveMinutesBeforeTheirEnd) {
  for (const bool renewed : {false, true}) {
    EXPECT_EQ(times(3600, renewed), std::pair(int64_t{3300}, int64_t{3300}));
    EXPECT_EQ(times(900, renewed), std::pair(int64_t{600}, int64_t{600}));
  }
}

TEST_F(CredentialsLife, OfShortLife) {
  EXPECT_EQ(times(301, false).first, 1);
  EXPECT_EQ(times(200, false), std::pair(int64_t{0}, int64_t{100}));  // a batch waits for fresh ones, nobody else does
  EXPECT_EQ(times(-5, false).first, 0);
  EXPECT_GT(uploader_.expire_at_ns(), kTaken_ns);
  // Fresh ones that are as short: not again and again.
  EXPECT_EQ(times(200, true), std::pair(int64_t{60}, int64_t{100}));
  EXPECT_EQ(times(4, true), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(times(-5, true).first, 600);
}

TEST_F(CredentialsLife, WithoutAnEnd) {
  AwsCredentials given;
  given.access_key = given.secret_key = "x";
  uploader_.take(given, kServerTime_ns, kTaken_ns, false);
  EXPECT_EQ(uploader_.refresh_at_ns(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(uploader_.renew_idle_at_ns(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace tacho
