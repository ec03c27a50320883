#include "net/aws/s3.h"

#include <cstdlib>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "net/aws/s3_address.h"
#include "net/aws/sigv4.h"
#include "net/aws/xml.h"
#include "net/http/digest.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr int64_t kClockIsRightNs = 5 * kNsPerSec;  // a Date header has whole seconds and was some time under way
constexpr int64_t kFreshCredentialsNs = 60 * kNsPerSec;
constexpr int64_t kProbeMs = 5'000;
constexpr int kCorrections = 4;  // region and clock, each perhaps twice
constexpr const char* kGuessedRegion = "eu-central-1";

S3Result no_answer(const Error& error) {
  S3Result result;
  const bool hopeless = error.code == Code::invalid;  // the settings are wrong
  result.verdict = hopeless ? S3Verdict::give_up : S3Verdict::retry;
  result.error_class = hopeless ? ErrorClass::other : ErrorClass::temporary;
  result.message = error.message();
  return result;
}

S3Verdict verdict_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::none: return S3Verdict::done;
    case ErrorClass::temporary: return S3Verdict::retry;
    case ErrorClass::credentials: return S3Verdict::refresh_credentials;
    default: return S3Verdict::give_up;
  }
}

// What a person can do about an answer that repeats itself; empty where S3's own word is all there is.
std::string_view advice_on(std::string_view code) {
  struct Advice {
    std::string_view code, text;
  };
  constexpr Advice kAdvice[] = {
      {"AccessDenied", "these keys may not write there: s3:PutObject has to be allowed"},
      {"NoSuchBucket", "make the bucket, or correct its name"},
      {"SignatureDoesNotMatch", "the secret key is not that of the access key"},
      {"InvalidAccessKeyId", "nobody there knows the access key: check it, and the endpoint"},
      {"ExpiredToken", "the session is over: sign in again"},
  };
  for (const Advice& advice : kAdvice)
    if (advice.code == code) return advice.text;
  return {};
}

}  // namespace

S3Settings S3Settings::from_environment() {
  S3Settings settings;
  settings.endpoint = environment("TACHO_S3_ENDPOINT");
  if (settings.endpoint.empty()) settings.endpoint = environment("AWS_ENDPOINT_URL_S3");
  if (const std::string style = environment("TACHO_S3_PATH_STYLE"); !style.empty())
    settings.path_style = parse_bool(style);
  settings.region = environment("TACHO_S3_REGION");
  return settings;
}

S3Client::S3Client(HttpClient& http, S3Settings settings, Clock& clock)
    : http_(http), settings_(std::move(settings)), clock_(clock) {}

void S3Client::note_server_date(std::string_view date) {
  const std::optional<int64_t> seconds = parse_http_date(date);
  if (!seconds || *seconds <= 0) return;
  const int64_t offset_ns = *seconds * kNsPerSec - clock_.realtime_ns();
  clock_offset_ns_ = std::abs(offset_ns) < kClockIsRightNs ? 0 : offset_ns;
}

// The bucket tells everyone where it is, in a header of any answer.
std::string S3Client::probe_region(const std::string& bucket) {
  HttpRequest request;
  request.method = "HEAD";
  request.url = s3_region_probe_url(bucket);
  request.connect_ms = request.response_ms = request.total_ms = kProbeMs;
  const Result<HttpResponse> answer = http_.send(request);
  return answer ? region_in_answer(*answer) : "";
}

// What S3 said itself comes first: it is told only after the others were proved wrong, or when there are none.
std::string S3Client::region_of(const std::string& bucket, const S3Settings& settings,
                                const AwsCredentials& credentials) {
  if (learnt_bucket_ == bucket) return learnt_region_;
  if (!settings.region.empty()) return settings.region;
  if (is_region(credentials.region)) return credentials.region;
  if (!settings.endpoint.empty()) return "us-east-1";
  const std::string found = probe_region(bucket);
  if (found.empty()) return kGuessedRegion;  // not kept: the next put asks again
  learnt_bucket_ = bucket;
  learnt_region_ = found;
  return found;
}

bool S3Client::learn_region(const std::string& bucket, const std::string& used, const HttpResponse& answer) {
  const std::string region = region_in_answer(answer);
  if (region.empty() || region == used) return false;
  learnt_bucket_ = bucket;
  learnt_region_ = region;
  return true;
}

// After RequestTimeTooSkewed: <ServerTime>2026-11-15T10:00:00Z</ServerTime>, or the Date header, which was noted
// already.
bool S3Client::learn_time(const HttpResponse& answer, int64_t signed_ns) {
  if (const auto server_ns = parse_iso_date_ns(xml_text(answer.body, "ServerTime")))
    clock_offset_ns_ = *server_ns - clock_.realtime_ns();
  return std::abs(server_time_ns() - signed_ns) > kClockIsRightNs;
}

S3Result S3Client::judge(const HttpResponse& answer, const AwsCredentials& credentials) {
  S3Result result;
  result.status = answer.status;
  const bool fresh = credentials.received_monotonic_ns > 0 &&
                     clock_.monotonic_ns() - credentials.received_monotonic_ns < kFreshCredentialsNs;
  if (answer.status >= 300) result.error_code = xml_text(answer.body, "Code");
  result.error_class = classify_s3(answer.status, result.error_code, fresh);
  // A bucket that is moving names no region in its 307: it will be there soon.
  if (result.error_class == ErrorClass::region)
    result.error_class = answer.status == 307 ? ErrorClass::temporary : ErrorClass::other;
  result.verdict = verdict_of(result.error_class);
  result.retry_after_ms = parse_retry_after_ms(answer.header("retry-after"), server_time_ns());
  if (result.verdict != S3Verdict::done) {
    result.message = "S3 answered " + std::to_string(answer.status);
    if (!result.error_code.empty()) result.message.append(" ").append(valid_utf8(result.error_code.substr(0, 100)));
    if (const std::string_view advice = advice_on(result.error_code); !advice.empty())
      result.message.append(" (").append(advice).append(")");
  }
  return result;
}

S3Result S3Client::put(const S3Location& location, std::string body, std::string_view content_type,
                       const AwsCredentials& credentials) {
  if (location.key.empty())
    return no_answer({Code::invalid, "an S3 object needs a key", "s3://" + location.bucket, "name a prefix"});
  S3Settings settings = settings_;
  if (settings.endpoint.empty()) settings.endpoint = credentials.endpoint;
  const std::string payload_hash = hex(sha256(body));
  const std::string body_md5 = md5(body);
  HttpRequest request;
  request.method = "PUT";
  request.body = std::move(body);
  request.has_body = true;
  request.total_ms = 120'000;
  request.body_limit = 256u << 10;

  for (int correction = 0;; ++correction) {
    const std::string region = region_of(location.bucket, settings, credentials);
    const Result<S3Address> address = s3_address(settings, location, region);
    if (!address) return no_answer(address.error());
    const int64_t signed_ns = server_time_ns();
    const SigV4Scope scope{sigv4_time(signed_ns), region, "s3"};
    Headers headers = {{"x-amz-content-sha256", payload_hash}, {"x-amz-date", scope.time}};
    if (!credentials.session_token.empty()) headers.emplace_back("x-amz-security-token", credentials.session_token);
    if (!content_type.empty()) headers.emplace_back("Content-Type", content_type);
    // The hash above is under the signature; this one is what also old servers check. Where MD5 is forbidden, the newer
    // header.
    if (body_md5.empty()) headers.emplace_back("x-amz-checksum-sha256", base64(sha256(request.body)));
    Headers to_sign = headers;
    to_sign.emplace_back("host", address->host);
    headers.emplace_back("Authorization", authorization({"PUT", address->path, "", to_sign, payload_hash}, scope,
                                                        credentials.access_key, credentials.secret_key));
    if (!body_md5.empty()) headers.emplace_back("Content-MD5", base64(body_md5));
    request.url = address->url;
    request.headers = std::move(headers);

    const Result<HttpResponse> answer = http_.send(request);
    if (!answer) return no_answer(answer.error());
    note_server_date(answer->header("date"));
    const std::string code = answer->status >= 300 ? xml_text(answer->body, "Code") : "";
    const bool misplaced = classify_s3(answer->status, code, false) == ErrorClass::region;
    if (correction < kCorrections && misplaced && learn_region(location.bucket, region, *answer)) continue;
    if (correction < kCorrections && code == "RequestTimeTooSkewed" && learn_time(*answer, signed_ns)) continue;
    return judge(*answer, credentials);
  }
}

}  // namespace tacho
