// PUT of one object to S3: address, SigV4, region discovery and the meaning of its errors (sentinel.md §4). Pure but for
// HttpClient. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace tacho {

struct AwsCredentials {
  std::string access_key, secret_key, session_token;
  int64_t expires_realtime_ns = 0;  // 0: they do not expire
};

struct S3Location {
  std::string bucket, key;
};
// s3://bucket/key; key is everything behind the first slash, not decoded.
Result<S3Location> parse_s3_uri(std::string_view uri);

struct S3Settings {
  std::string endpoint;              // TACHO_S3_ENDPOINT, AWS_ENDPOINT_URL_S3; empty: Amazon's
  std::optional<bool> path_style;    // TACHO_S3_PATH_STYLE
  std::string region;                // TACHO_S3_REGION or the credentials'; empty: find out
  static S3Settings from_environment();
};

// What to do after an attempt: a value, so that every caller decides the same.
enum class Verdict { done, retry, refresh_credentials, give_up };

struct S3Result {
  Verdict verdict = Verdict::retry;
  int status = 0;
  std::string error_code;            // S3's <Code>, empty without one
  int64_t retry_after_ms = 0;        // Retry-After
};

class S3Client {
 public:
  S3Client(HttpClient& http, S3Settings settings);
  // Region mistakes and clock skew are corrected and repeated inside.
  S3Result put(const S3Location& location, std::string_view body, std::string_view content_type, const AwsCredentials& credentials);

 private:
  HttpClient& http_;
  S3Settings settings_;
  std::string learnt_region_;
  int64_t clock_offset_ns_ = 0;      // server time minus ours
};

}  // namespace tacho
