#include "net/http/retry.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Retry, KnowsTheClassesOfTheApi) {
  EXPECT_EQ(classify_api(200, ""), ErrorClass::none);
  EXPECT_EQ(classify_api(201, ""), ErrorClass::none);
  for (const int status : {0, 408, 425, 429, 500, 502, 503, 504, 599})
    EXPECT_EQ(classify_api(status, ""), ErrorClass::temporary) << status;
  EXPECT_EQ(classify_api(401, ""), ErrorClass::token);
  EXPECT_EQ(classify_api(403, ""), ErrorClass::token);
  EXPECT_EQ(classify_api(404, ""), ErrorClass::gone);
  EXPECT_EQ(classify_api(409, ""), ErrorClass::conflict);
  EXPECT_EQ(classify_api(400, R"({"message":"Run already finished"})"), ErrorClass::conflict);
  EXPECT_EQ(classify_api(400, R"({"detail":"Run has already been finished."})"), ErrorClass::conflict);
  EXPECT_EQ(classify_api(422, R"({"detail":[{"loc":["body","x"],"msg":"has already finished_at"}]})"),
            ErrorClass::schema);
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
  for (const int status : {0, 408, 429, 500, 503})
    EXPECT_EQ(classify_s3(status, "", false), ErrorClass::temporary) << status;
  for (const char* code : {"SlowDown", "InternalError", "RequestTimeout", "BadDigest"})
    EXPECT_EQ(classify_s3(400, code, false), ErrorClass::temporary) << code;
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

}  // namespace
}  // namespace tacho
