#include "deliver/sentinel.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "deliver/compress.h"
#include "deliver/gzip_source.h"
#include "net/http/url.h"
#include "os/clock.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr int kRelaxRounds = 5;
constexpr int kRedirects = 5;

std::string where(const std::string& url) {
  const size_t host = url.find("://");
  return host == std::string::npos ? url : url.substr(host + 3);
}

// The words of an error answer are the server's: only a short piece of plain text is repeated.
std::string status_text(const HttpResponse& response) { return "it answered " + std::to_string(response.status); }

}  // namespace

Sentinel::Sentinel(HttpClient& http, std::string base_url, std::string token)
    : http_(http), base_url_(std::move(base_url)), token_(std::move(token)) {
  compress_ = environment_on("TACHO_SENTINEL_GZIP");
}

int64_t Sentinel::server_now_ns() const { return system_clock().realtime_ns() + offset_ns_; }

HttpRequest Sentinel::request(const std::string& path, bool slow) const {
  HttpRequest request;
  request.method = "POST";
  request.url = base_url_ + path;
  request.headers = {
      {"Authorization", "Bearer " + token_}, {"Accept", "application/json"}, {"User-Agent", "tacho/" TACHO_VERSION}};
  request.redirects = kRedirects;
  if (slow) {
    request.response_ms = 120'000;
    request.total_ms = 150'000;
  }
  if (limit_ms_ > 0) {
    request.total_ms = std::min(request.total_ms, limit_ms_);
    request.response_ms = std::min(request.response_ms, limit_ms_);
    request.connect_ms = std::min(request.connect_ms, limit_ms_);
  }
  return request;
}

CallResult Sentinel::call(const std::string& path, Json* body, CsvSource* csv, bool slow, Json& answer) {
  CallResult result;
  if (const Status status = check_url(base_url_); !status) {
    result.refused = true;
    result.text = status.error().message();
    return result;
  }
  Relaxed memory;
  bool compressed = compress_ && body != nullptr;
  for (int round = 0;; ++round) {
    HttpRequest request = this->request(path, slow);
    std::optional<GzipSource> packed;
    if (body != nullptr) {
      request.headers.emplace_back("Content-Type", "application/json");
      request.body = body->dump(-1, ' ', false, Json::error_handler_t::replace);
      if (csv != nullptr) csv->put_into(std::exchange(request.body, {}));
      request.source = csv;
      if (compressed) {
        if (csv != nullptr) request.source = &packed.emplace(*csv);
        else request.body = gzip(request.body);
        request.headers.emplace_back("Content-Encoding", "gzip");
      }
      request.has_body = true;
    }
    const auto response = http_.send(request);
    if (!response) {
      result = CallResult{};  // what an answer of an earlier round said counts no more
      result.refused = response.error().code == Code::invalid;
      result.text = response.error().message();
      return result;
    }
    date_ = response->header("date");
    if (const auto date = parse_http_date(date_)) offset_ns_ = *date * kNsPerSec - system_clock().realtime_ns();
    result.status = response->status;
    result.what = classify_api(response->status, response->body);
    result.retry_after_ms = parse_retry_after_ms(response->header("retry-after"), server_now_ns());
    result.text = where(base_url_) + path + ": " + status_text(*response);
    if (compressed && (response->status == 415 || response->status == 422)) {
      compressed = compress_ = false;
      continue;
    }
    if (result.what == ErrorClass::schema && body != nullptr && round < kRelaxRounds &&
        relax(*body, response->body, memory))
      continue;
    result.dropped = memory.dropped;
    result.renamed = memory.renamed;
    answer = parse_json(response->body);
    if (result.what == ErrorClass::none && !answer.is_object())
      unreadable(result, path, "the answer is not JSON; is SENTINEL_API_URL right?");
    return result;
  }
}

// A proxy's page, or a body that was cut off: what stands between us and the service may be another one in a minute.
void Sentinel::unreadable(CallResult& result, const std::string& path, const char* why) const {
  result.what = ErrorClass::temporary;
  result.text = where(base_url_) + path + ": " + why;
}

CallResult Sentinel::start(const Json& body, Registration& registration) {
  Json copy = body, answer;
  CallResult result = call("/runs", &copy, nullptr, false, answer);
  if (result.what != ErrorClass::none) return result;
  registration.run_id = text_of(answer, "run_id");
  registration.prefix = text_of(answer, "upload_uri_prefix");
  if (const auto found = answer.find("upload_credentials"); found != answer.end())
    registration.credentials = parse_credentials(*found, server_now_ns(), system_clock().monotonic_ns());
  if (!registration.run_id.empty()) return result;
  unreadable(result, "/runs", "the answer has no run_id");
  return result;
}

CallResult Sentinel::refresh(const std::string& run_id, std::optional<AwsCredentials>& credentials) {
  Json answer;
  CallResult result =
      call("/runs/" + percent_encode(run_id, false) + "/refresh-credentials", nullptr, nullptr, false, answer);
  if (result.what != ErrorClass::none) return result;
  const auto found = answer.find("upload_credentials");
  auto fresh =
      parse_credentials(found != answer.end() ? *found : answer, server_now_ns(), system_clock().monotonic_ns());
  if (fresh) {
    credentials = std::move(fresh);
  } else {
    unreadable(result, "", "the refreshed credentials have no keys");
  }
  return result;
}

CallResult Sentinel::finish(const std::string& run_id, Json body, CsvSource* csv, Processing& processing) {
  Json answer;
  CallResult result = call("/runs/" + percent_encode(run_id, false) + "/finish", &body, csv, true, answer);
  if (result.what != ErrorClass::none) return result;
  for (const char* key : {"stats", "processing"})
    if (const auto found = answer.find(key); found != answer.end()) processing.answer[key] = *found;
  if (const auto found = answer.find("processing"); found != answer.end() && found->is_object()) {
    processing.rows = parse_int<int64_t>(text_of(*found, "rows"));
    processing.files = parse_int<int64_t>(text_of(*found, "files"));
    processing.error = text_of(*found, "error");
  }
  return result;
}

bool Sentinel::heartbeat(const std::string& path, const std::string& run_id) {
  std::string full = path.starts_with('/') ? path : "/" + path;
  if (const size_t at = full.find("{run_id}"); at != std::string::npos)
    full.replace(at, 8, percent_encode(run_id, false));
  HttpRequest request = this->request(full, false);
  request.total_ms = request.response_ms = std::min<int64_t>(request.total_ms, 10'000);
  const auto response = http_.send(request);
  return !response || (response->status != 404 && response->status != 405);
}

}  // namespace tacho
