// What a failed attempt means and how long to wait before the next one (sentinel.md §5): values and pure functions, with
// clock and chance handed in. Thread-safe.
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

enum class ErrorClass {
  none,         // it worked
  temporary,    // try again without limit
  credentials,  // get fresh ones, then the same again
  region,       // S3 told where the bucket is: sign again at once
  schema,       // the API names fields that it does not want
  token,        // the API refuses the token
  gone,         // the run is not known there
  conflict,     // done already
  oversize,     // too large for this way
  other,        // try again five times at most, a minute apart, then keep the data
};
std::string_view error_class_name(ErrorClass error_class);

// Whether the same request may get another answer later: 408, 425, 429, 5xx, and 0 for no answer at all.
bool is_temporary_status(int status);

// Of an answer of the Sentinel API. The body is looked at for 4xx only: "detail" in a 400, and "already finished".
ErrorClass classify_api(int status, std::string_view body);
// Of an answer of S3 with its <Code>. Credentials that are younger than a minute are not to blame for a plain refusal.
ErrorClass classify_s3(int status, std::string_view code, bool credentials_are_fresh);

constexpr int64_t kMaxRetryAfterMs = 300'000;
// Retry-After: seconds or a date; 0 when there is none or it makes no sense, never more than kMaxRetryAfterMs.
int64_t parse_retry_after_ms(std::string_view value, int64_t now_realtime_ns);

// Full jitter: anything between 0 and a bound that doubles from 1 s to 60 s.
class Backoff {
 public:
  Backoff() = default;
  Backoff(int64_t first_ms, int64_t last_ms) : first_ms_(first_ms), last_ms_(last_ms), bound_ms_(first_ms) {}
  // How long to wait now. random is in [0, 1); the server's wish is a lower limit.
  int64_t next_ms(double random, int64_t retry_after_ms = 0);
  // The same where the first wait must be long already (ErrorClass::other).
  int64_t next_ms_at_least(int64_t at_least_ms, double random, int64_t retry_after_ms = 0);
  void reset();  // after a success
  int attempts() const { return attempts_; }

 private:
  int64_t first_ms_ = 1'000, last_ms_ = 60'000, bound_ms_ = 1'000;
  int attempts_ = 0;
};

}  // namespace tacho
