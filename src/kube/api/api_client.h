// The Kubernetes API over HTTP/1.1 with kept connections: one request at a time, answers with their Status, 429 and
// Retry-After honoured, and a common limit of requests for the whole process. ApiServer is thread-safe; an ApiClient
// belongs to one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api/access.h"
#include "net/http/http.h"

namespace tacho {

// Tokens at a rate, a burst at once. Pure but for its own state; not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {}
  // Takes a token, perhaps one that is not there yet; returns how long to wait for it.
  int64_t take_ns(int64_t now_ns);
  // Takes one only if it is there.
  bool try_take(int64_t now_ns);

 private:
  void fill(int64_t now_ns);

  double per_second_, burst_, tokens_;
  int64_t at_ns_ = 0;
};

class ApiServer {
 public:
  static Result<std::shared_ptr<ApiServer>> open(const std::string& kubeconfig, double per_second = 20,
                                                 double burst = 30);
  AccessSource& access() { return *access_; }
  int64_t turn_ns();  // how long the caller has to wait for its turn

 private:
  ApiServer(std::shared_ptr<AccessSource> access, double per_second, double burst)
      : access_(std::move(access)), bucket_(per_second, burst) {}

  std::shared_ptr<AccessSource> access_;
  std::mutex mutex_;
  TokenBucket bucket_;
};

struct ApiRequest {
  std::string method = "GET";
  std::string path{};  // with query
  std::string body{};
  std::string content_type = "application/json";
  int64_t total_ms = 30'000;                         // of one attempt
  int64_t wait_ms = 10'000;                          // how long to wait after 429 and 503 with Retry-After, all in all
  bool urgent = false;                               // the lease: before all others
  std::function<bool(std::string_view)> on_chunk{};  // a watch
};

struct ApiAnswer {
  int status = 0;          // 0: no answer, `message` says why
  bool stopped = false;    // cut short because the program ends, or by on_chunk
  bool too_large = false;  // there was an answer, but larger than we take
  std::string body{};
  std::string reason{}, message{};  // of a Status object: "AlreadyExists"
  int64_t retry_after_ms = 0;
  bool ok() const { return status >= 200 && status < 300; }
  bool not_found() const { return status == 404; }
  bool conflict() const { return status == 409; }
  bool gone() const { return status == 410; }
  // The same request may work later.
  bool may_pass() const { return status == 0 || status == 429 || status >= 500; }
  // "409 Conflict: the object has been modified", for a person.
  std::string text() const;
};

// Fills status, reason, message and retry_after_ms from {"kind":"Status","code":409,"reason":"Conflict","message":"…",
// "details":{"retryAfterSeconds":1}}; for any other body, its first line is the message.
void read_status(std::string_view body, ApiAnswer& answer);

class ApiClient {
 public:
  // A readable stop_fd cuts every request and wait short.
  ApiClient(std::shared_ptr<ApiServer> server, int stop_fd);
  ApiAnswer send(const ApiRequest& request);
  ApiAnswer get(const std::string& path);
  ApiAnswer create(const std::string& path, std::string body);
  ApiAnswer put(const std::string& path, std::string body);
  ApiAnswer merge_patch(const std::string& path, std::string body);
  ApiAnswer remove(const std::string& path, std::string body);
  // False when stop_fd became readable meanwhile.
  bool sleep_ms(int64_t ms) const;
  bool stopped() const;

 private:
  ApiAnswer send_once(const ApiRequest& request);

  std::shared_ptr<ApiServer> server_;
  int stop_fd_;
  HttpClient http_;
};

// "v1" is in /api, everything else in /apis. An empty name is the collection, an empty namespace all of them.
std::string api_path(std::string_view api_version, std::string_view resource, std::string_view ns,
                     std::string_view name = {}, std::string_view subresource = {});

}  // namespace tacho
