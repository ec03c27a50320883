// HTTP client on libcurl: one request at a time with deadlines by phase, TLS always verified, and no redirect followed
// unless it stays on the same host. Bodies are bounded. One client a thread.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tacho {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  Headers headers;
  std::string body;
  bool has_body = false;             // a POST without body sends Content-Length: 0
  int64_t connect_ms = 10'000;       // DNS, connect and TLS
  int64_t stalled_ms = 15'000;       // no progress while sending
  int64_t response_ms = 30'000;      // from the end of sending to the answer
  int64_t total_ms = 60'000;
  size_t body_limit = 16u << 20;
  bool use_proxy = true;             // never for metadata servers
  int redirects = 0;                 // followed at most so often, to the same host only, never from https to http
};

struct HttpResponse {
  int status = 0;
  Headers headers;                   // names in lower case
  std::string body;
  std::string_view header(std::string_view lower_name) const;  // empty when absent
};

class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  // An Error means that there was no answer: Code::io (temporary: connect, TLS, reset, time-out) or Code::invalid (bad URL,
  // refused redirect, certificate store missing). A status of 4xx or 5xx is an answer. `sent` tells whether the request
  // left completely before the failure.
  Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// http:// is for loopback only; elsewhere it is an error unless TACHO_ALLOW_HTTP=1.
Status check_url(const std::string& url);
std::string percent_encode(std::string_view text, bool keep_slash);  // RFC 3986, upper-case hex

}  // namespace tacho
