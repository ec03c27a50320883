// PUT of one object to S3: address, SigV4, region discovery and the meaning of its errors (sentinel.md §4). Talks
// through the HttpClient that it is given. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "net/http/http.h"
#include "net/http/retry.h"
#include "os/clock.h"

namespace tacho {

// How long credentials last whose end is not told, or is told to be over.
constexpr int64_t kAssumedLife_ns = 900 * kNsPerSec;

struct AwsCredentials {
  std::string access_key, secret_key, session_token;
  int64_t expires_realtime_ns = 0;    // 0: they do not expire
  std::string region;                 // where it came with them; empty: not known
  int64_t received_monotonic_ns = 0;  // when they were handed to us; 0: long ago
  std::string endpoint = {};          // whose keys they are, where it is not Amazon's; weaker than the settings'
};

struct S3Location {
  std::string bucket, key;
};
// s3://bucket/key; key is everything behind the first slash, not decoded, and empty in s3://bucket and s3://bucket/.
Result<S3Location> parse_s3_uri(std::string_view uri);

struct S3Settings {
  std::string endpoint;            // TACHO_S3_ENDPOINT, AWS_ENDPOINT_URL_S3; empty: Amazon's
  std::optional<bool> path_style;  // TACHO_S3_PATH_STYLE
  std::string region;              // TACHO_S3_REGION, which beats the credentials'; empty: find out
  static S3Settings from_environment();
};

// What to do after an attempt: a value, so that every caller decides the same.
//   retry                the same again, with back-off
//   refresh_credentials  get fresh ones, then the same again
//   give_up              this will not work soon: error_class other (sentinel.md §5: at most five times, a minute
//                        apart), or the settings are wrong (status 0, a message with what to do)
enum class S3Verdict { done, retry, refresh_credentials, give_up };

struct S3Result {
  S3Verdict verdict = S3Verdict::retry;
  int status = 0;              // 0: no answer
  std::string error_code;      // S3's <Code>, empty without one
  int64_t retry_after_ms = 0;  // Retry-After
  ErrorClass error_class = ErrorClass::temporary;
  std::string message;  // for a person; holds no secret
};

class S3Client {
 public:
  S3Client(HttpClient& http, S3Settings settings, Clock& clock = system_clock());
  // Region mistakes and clock skew are corrected and repeated inside.
  S3Result put(const S3Location& location, std::string body, std::string_view content_type,
               const AwsCredentials& credentials);

  // Takes the Date header of any server that is trusted to know the time; the local clock may be wrong.
  void note_server_date(std::string_view date);
  int64_t clock_offset_ns() const { return clock_offset_ns_; }  // server time minus ours; 0 when about the same
  int64_t server_time_ns() { return clock_.realtime_ns() + clock_offset_ns_; }

 private:
  std::string region_of(const std::string& bucket, const S3Settings& settings, const AwsCredentials& credentials);
  std::string probe_region(const std::string& bucket);
  bool learn_region(const std::string& bucket, const std::string& used, const HttpResponse& answer);
  bool learn_time(const HttpResponse& answer, int64_t signed_ns);
  S3Result judge(const HttpResponse& answer, const AwsCredentials& credentials);

  HttpClient& http_;
  S3Settings settings_;
  Clock& clock_;
  std::string learnt_bucket_, learnt_region_;  // what S3 said itself
  int64_t clock_offset_ns_ = 0;
};

}  // namespace tacho
