#include "net/retry.h"

#include <gtest/gtest.h>

#include "net/iso_date.h"
#include "net/url.h"

namespace tacho {
namespace {

TEST(Retry, KnowsTheClassesOfTheApi) {
  EXPECT_EQ(classify_api(200, ""), ErrorClass::none);
  EXPECT_EQ(classify_api(201, ""), ErrorClass::none);
  for (const int status : {0, 408, 425, 429, 500, 502, 503, 504, 599}) EXPECT_EQ(classify_api(status, ""), ErrorClass::temporary) << status;
  EXPECT_EQ(classify_api(401, ""), ErrorClass::token);
  EXPECT_EQ(classify_api(403, ""), ErrorClass::token);
  EXPECT_EQ(classify_api(404, ""), ErrorClass::gone);
  EXPECT_EQ(classify_api(409, ""), ErrorClass::conflict);
  EXPECT_EQ(classify_api(400, R"({"message":"Run already finished"})"), ErrorClass::conflict);
  EXPECT_EQ(classify_api(413, ""), ErrorClass::oversize);
  EXPECT_EQ(classify_api(422, ""), ErrorClass::schema);
  EXPECT_EQ(classify_api(400, R"({"detail":[]})"), ErrorClass::schema);
  EXPECT_EQ(classify_api(400, "<html>"), ErrorClass::other);
  EXPECT_EQ(classify_api(418, ""), ErrorClass::other);
  // An API behind which somebody else's web page answers.
  EXPECT_EQ(classify_api(302, "<html>already finished</html>"), ErrorClass::other);
}

TEST(Retry, KnowsTheClassesOfS3) {
  for (const int status : {200, 201, 204}) EXPECT_EQ(classify_s3(status, "", false), ErrorClass::none);
  EXPECT_EQ(classify_s3(206, "", false), ErrorClass::other);
  for (const int status : {0, 408, 429, 500, 503}) EXPECT_EQ(classify_s3(status, "", false), ErrorClass::temporary) << status;
  for (const char* code : {"SlowDown", "InternalError", "RequestTimeout", "BadDigest"}) EXPECT_EQ(classify_s3(400, code, false), ErrorClass::temporary) << code;
  for (const char* code : {"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired"}) {
    EXPECT_EQ(classify_s3(400, code, true), ErrorClass::credentials) << code;
    EXPECT_EQ(classify_s3(403, code, true), ErrorClass::credentials) << code;
  }
  for (const char* code : {"AccessDenied", "InvalidAccessKeyId", ""}) {
    EXPECT_EQ(classify_s3(403, code, false), ErrorClass::credentials) << code;
    EXPECT_EQ(classify_s3(403, code, true), ErrorClass::other) << code;
  }
  EXPECT_EQ(classify_s3(403, "SignatureDoesNotMatch", false), ErrorClass::other);
  EXPECT_EQ(classify_s3(301, "PermanentRedirect", false), ErrorClass::region);
  EXPECT_EQ(classify_s3(307, "", false), ErrorClass::region);
  EXPECT_EQ(classify_s3(400, "AuthorizationHeaderMalformed", false), ErrorClass::region);
  EXPECT_EQ(classify_s3(404, "NoSuchBucket", false), ErrorClass::other);
}

TEST(Retry, BacksOffWithFullJitterFromOneSecondToAMinute) {
  Backoff backoff;
  EXPECT_EQ(backoff.next_ms(0.5), 500);
  EXPECT_EQ(backoff.next_ms(0.5), 1'000);
  EXPECT_EQ(backoff.next_ms(0.0), 0);
  EXPECT_EQ(backoff.next_ms(0.5), 4'000);
  for (int i = 0; i < 60; ++i) (void)backoff.next_ms(0.9);
  EXPECT_EQ(backoff.next_ms(0.5), 30'000);
  EXPECT_EQ(backoff.next_ms(0.999), 59'940);
  EXPECT_EQ(backoff.attempts(), 66);
  backoff.reset();
  EXPECT_EQ(backoff.next_ms(0.5), 500);
}

TEST(Retry, ObeysTheServerUpToFiveMinutes) {
  Backoff backoff;
  EXPECT_EQ(backoff.next_ms(0.5, 7'000), 7'000);
  EXPECT_EQ(backoff.next_ms(0.5, 999'000), 300'000);
  EXPECT_EQ(backoff.next_ms_at_least(60'000, 0.5, 0), 62'000);
}

TEST(Retry, ReadsRetryAfter) {
  constexpr int64_t kNow = 784'111'777'000'000'000;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after_ms("3", kNow), 3'000);
  EXPECT_EQ(parse_retry_after_ms(" 120 ", kNow), 120'000);
  EXPECT_EQ(parse_retry_after_ms("86400", kNow), 300'000);
  EXPECT_EQ(parse_retry_after_ms("99999999999999999999999", kNow), 300'000);
  EXPECT_EQ(parse_retry_after_ms("-5", kNow), 0);
  EXPECT_EQ(parse_retry_after_ms("", kNow), 0);
  EXPECT_EQ(parse_retry_after_ms("soon", kNow), 0);
  EXPECT_EQ(parse_retry_after_ms("Sun, 06 Nov 1994 08:50:07 GMT", kNow), 30'000);
  EXPECT_EQ(parse_retry_after_ms("Sun, 06 Nov 1994 08:40:00 GMT", kNow), 0);
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
  for (const char* bad : {"", "2026", "2026-11-15", "2026-02-30T00:00:00Z", "2026-11-15T25:00:00Z", "2026-11-15T09:30:00.Z", "2026-11-15T09:30:00+1",
                          "2026-11-15T09:30:00 soon", "9999-12-31T00:00:00Z", "15 Nov 2026"}) {
    EXPECT_EQ(parse_iso_date_ns(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace tacho
