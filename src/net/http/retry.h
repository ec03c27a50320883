// What a failed attempt means and how long to wait before the next one (sentinel.md §5): values and pure functions;
// clock and random numbers are parameters. Thread-safe.
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

// Whether the same request may get another answer later: 408, 425, 429, 5xx, and 0 for no answer at all.
bool is_temporary_status(int status);

// Of an answer of the Sentinel API. The body is read for 4xx only: "detail" in a 400, and "already finished".
ErrorClass classify_api(int status, std::string_view body);
// Of an answer of S3 with its <Code>. Credentials that are younger than a minute are not to blame for a plain refusal.
ErrorClass classify_s3(int status, std::string_view code, bool credentials_are_fresh);

// Retry-After: seconds or a date; 0 when there is none or it makes no sense, never more than kMaxRetryAfterMs.
int64_t parse_retry_after_ms(std::string_view value, int64_t now_realtime_ns);

}  // namespace tacho
