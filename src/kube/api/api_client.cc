#include "kube/api/api_client.h"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/backoff.h"
#include "base/text.h"
#include "base/units.h"
#include "kube/api/object.h"
#include "net/http/retry.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kAnswerLimit = 64u << 20;  // a page of 500 large objects

}  // namespace

void TokenBucket::fill(int64_t now_ns) {
  if (at_ns_ != 0)
    tokens_ =
        std::min(burst_, tokens_ + static_cast<double>(now_ns - at_ns_) / static_cast<double>(kNsPerSec) * per_second_);
  at_ns_ = now_ns;
}

int64_t TokenBucket::take_ns(int64_t now_ns) {
  fill(now_ns);
  tokens_ -= 1;
  return tokens_ >= 0 ? 0 : static_cast<int64_t>(-tokens_ / per_second_ * static_cast<double>(kNsPerSec));
}

bool TokenBucket::try_take(int64_t now_ns) {
  fill(now_ns);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Result<std::shared_ptr<ApiServer>> ApiServer::open(const std::string& kubeconfig, double per_second, double burst) {
  Result<std::shared_ptr<AccessSource>> access = AccessSource::open(kubeconfig);
  if (!access) return access.error();
  return std::shared_ptr<ApiServer>(new ApiServer(std::move(*access), per_second, burst));
}

int64_t ApiServer::turn_ns() {
  const std::lock_guard lock(mutex_);
  return bucket_.take_ns(system_clock().monotonic_ns());
}

std::string ApiAnswer::text() const {
  std::string all;
  if (status != 0) all.append(std::to_string(status)).append(reason.empty() ? "" : " ").append(reason);
  if (!message.empty()) all.append(all.empty() ? "" : ": ").append(message);
  return all;
}

void read_status(std::string_view body, ApiAnswer& answer) {
  const std::optional<Json> status = parse_json(body);
  if (!status || text_at(*status, {"kind"}) != "Status") {
    answer.message = valid_utf8(body.substr(0, std::min<size_t>(body.find('\n'), 200)));
    return;
  }
  if (const Json* code = find(*status, {"code"}); code != nullptr && code->is_number_integer() && answer.status == 0)
    answer.status = code->get<int>();
  answer.reason = text_at(*status, {"reason"});
  answer.message = text_at(*status, {"message"});
  if (const Json* seconds = find(*status, {"details", "retryAfterSeconds"});
      seconds != nullptr && seconds->is_number_integer())
    answer.retry_after_ms = std::clamp<int64_t>(seconds->get<int64_t>(), 0, kMaxRetryAfterMs / 1000) * 1000;
}

ApiClient::ApiClient(std::shared_ptr<ApiServer> server, int stop_fd) : server_(std::move(server)), stop_fd_(stop_fd) {
  http_.set_stop_fd(stop_fd);
}

bool ApiClient::sleep_ms(int64_t ms) const {
  pollfd stop{stop_fd_, POLLIN, 0};
  return system_clock().wait({&stop, stop_fd_ >= 0 ? 1u : 0u}, system_clock().monotonic_ns() + ms * kNsPerMs) == 0;
}

bool ApiClient::stopped() const {
  pollfd stop{stop_fd_, POLLIN, 0};
  return stop_fd_ >= 0 && ::poll(&stop, 1, 0) > 0;
}

ApiAnswer ApiClient::send_once(const ApiRequest& request) {
  const std::shared_ptr<const ApiAccess> access = server_->access().current();
  HttpRequest http;
  http.method = request.method;
  http.url = access->server + request.path;
  http.body = request.body;
  http.has_body = !request.body.empty();
  if (http.has_body) http.headers.emplace_back("Content-Type", request.content_type);
  http.headers.emplace_back("Accept", "application/json");
  if (!access->token.empty()) http.headers.emplace_back("Authorization", "Bearer " + access->token);
  http.tls = access->tls;
  http.connect_ms = std::min<int64_t>(request.total_ms, 5'000);
  http.total_ms = http.response_ms = request.total_ms;
  http.body_limit = kAnswerLimit;
  http.on_chunk = request.on_chunk;
  Result<HttpResponse> response = http_.send(http);
  ApiAnswer answer;
  if (!response) {
    answer.stopped = response.error().code == Code::gone;
    answer.too_large = response.error().what.starts_with("the answer is larger");
    answer.message = response.error().message();
    return answer;
  }
  answer.status = response->status;
  if (answer.ok()) {
    answer.body = std::move(response->body);
    return answer;
  }
  if (answer.status == 401) server_->access().refresh();
  read_status(response->body, answer);
  answer.retry_after_ms = std::max(answer.retry_after_ms,
                                   parse_retry_after_ms(response->header("retry-after"), system_clock().realtime_ns()));
  return answer;
}

ApiAnswer ApiClient::send(const ApiRequest& request) {
  for (int64_t waited_ms = 0;;) {
    if (!request.urgent) {
      if (const int64_t turn_ns = server_->turn_ns(); turn_ns > 0 && !sleep_ms(turn_ns / kNsPerMs + 1))
        return {.stopped = true, .message = "the program ends"};
    }
    ApiAnswer answer = send_once(request);
    const bool asked_to_wait = answer.status == 429 || (answer.status == 503 && answer.retry_after_ms > 0);
    const int64_t wait_ms = std::max<int64_t>(answer.retry_after_ms, 1'000);
    if (!asked_to_wait || waited_ms + wait_ms > request.wait_ms) return answer;
    waited_ms += wait_ms;
    if (!sleep_ms(wait_ms)) return {.stopped = true, .message = "the program ends"};
  }
}

ApiAnswer ApiClient::get(const std::string& path) { return send({.path = path}); }
ApiAnswer ApiClient::create(const std::string& path, std::string body) {
  return send({.method = "POST", .path = path, .body = std::move(body)});
}
ApiAnswer ApiClient::put(const std::string& path, std::string body) {
  return send({.method = "PUT", .path = path, .body = std::move(body)});
}
ApiAnswer ApiClient::merge_patch(const std::string& path, std::string body) {
  return send(
      {.method = "PATCH", .path = path, .body = std::move(body), .content_type = "application/merge-patch+json"});
}
ApiAnswer ApiClient::remove(const std::string& path, std::string body) {
  return send({.method = "DELETE", .path = path, .body = std::move(body)});
}

std::string api_path(std::string_view api_version, std::string_view resource, std::string_view ns,
                     std::string_view name, std::string_view subresource) {
  std::string path = api_version.find('/') == std::string_view::npos ? "/api/" : "/apis/";
  path += api_version;
  if (!ns.empty()) path.append("/namespaces/").append(percent_encode(ns, false));
  path.append("/").append(resource);
  if (!name.empty()) path.append("/").append(percent_encode(name, false));
  if (!subresource.empty()) path.append("/").append(subresource);
  return path;
}

}  // namespace tacho
