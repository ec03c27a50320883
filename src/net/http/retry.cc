#include "net/http/retry.h"

#include <algorithm>
#include <array>

#include "base/backoff.h"
#include "base/text.h"
#include "base/units.h"
#include "net/http/url.h"

namespace tacho {
namespace {

// "already finished", "has already been finished", "was finished already"; not the name of a field that stands near by.
bool says_already_finished(std::string_view body) {
  const std::string text = lower(body.substr(0, 4096));
  for (const std::string_view words :
       {"already finished", "already been finished", "already marked finished", "already marked as finished",
        "finished already", "already in state finished", "already has status finished"})
    if (const size_t at = text.find(words);
        at != std::string::npos && !std::string_view(text).substr(at + words.size()).starts_with('_'))
      return true;
  return false;
}

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whatever status comes with them: some servers answer SlowDown with 429, RequestTimeout with 400.
constexpr std::array<std::string_view, 10> kTemporaryCodes = {
    "SlowDown",         "InternalError",       "RequestTimeout", "ServiceUnavailable",
    "OperationAborted", "TooManyRequests",     "BadDigest",      "XAmzContentSHA256Mismatch",
    "IncompleteBody",   "RequestTimeTooSkewed"};
constexpr std::array<std::string_view, 4> kExpiredCodes = {"ExpiredToken", "InvalidToken", "TokenRefreshRequired",
                                                           "RequestExpired"};
constexpr std::array<std::string_view, 2> kRefusedCodes = {"AccessDenied", "InvalidAccessKeyId"};
constexpr std::array<std::string_view, 4> kRegionCodes = {"AuthorizationHeaderMalformed", "PermanentRedirect",
                                                          "TemporaryRedirect", "Redirect"};

}  // namespace

bool is_temporary_status(int status) {
  return status == 0 || status == 408 || status == 425 || status == 429 || status >= 500;
}

ErrorClass classify_api(int status, std::string_view body) {
  if (status >= 200 && status < 300) return ErrorClass::none;
  if (is_temporary_status(status)) return ErrorClass::temporary;
  if (status == 409) return ErrorClass::conflict;
  if (status >= 400 && says_already_finished(body)) return ErrorClass::conflict;
  switch (status) {
    case 401:
    case 403: return ErrorClass::token;
    case 404:
    case 410: return ErrorClass::gone;
    case 413: return ErrorClass::oversize;
    case 422: return ErrorClass::schema;
    case 400: return body.find("\"detail\"") != std::string_view::npos ? ErrorClass::schema : ErrorClass::other;
    default: return ErrorClass::other;
  }
}

ErrorClass classify_s3(int status, std::string_view code, bool credentials_are_fresh) {
  if (status == 200 || status == 201 || status == 204) return ErrorClass::none;
  if (is_one_of(code, kExpiredCodes)) return ErrorClass::credentials;
  if (is_one_of(code, kTemporaryCodes) || is_temporary_status(status)) return ErrorClass::temporary;
  if (status == 301 || status == 307 || (status == 400 && is_one_of(code, kRegionCodes))) return ErrorClass::region;
  // Without a code it is a server that is not Amazon's, or something between us and it.
  if (status == 403 && (code.empty() || is_one_of(code, kRefusedCodes)) && !credentials_are_fresh)
    return ErrorClass::credentials;
  return ErrorClass::other;
}

int64_t parse_retry_after_ms(std::string_view value, int64_t now_realtime_ns) {
  value = trim(value);
  if (value.empty()) return 0;
  int64_t seconds = 0;
  if (const auto number = parse_int<int64_t>(value)) {
    seconds = *number;
  } else if (value.find_first_not_of("0123456789") == std::string_view::npos) {
    seconds = kMaxRetryAfterMs;  // more digits than a number has
  } else if (const auto date = parse_http_date(value)) {
    seconds = *date - now_realtime_ns / kNsPerSec;
  }
  return std::clamp<int64_t>(seconds, 0, kMaxRetryAfterMs / 1000) * 1000;
}

}  // namespace tacho
