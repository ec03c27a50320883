// HTTP client on libcurl (7.85 or newer): one request at a time with deadlines by phase, TLS always verified, and no
// redirect followed unless it stays on the same host. Bodies are bounded, connections are kept for the next request.
// One client per thread.
//
// Environment: HTTPS_PROXY, HTTP_PROXY, NO_PROXY (never for a loopback address); SSL_CERT_FILE, SSL_CERT_DIR;
// TACHO_DEBUG_HTTP=1 prints headers to stderr with every secret masked.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tacho {

using Headers = std::vector<std::pair<std::string, std::string>>;

// A server with a CA of its own, and a client certificate: PEM texts, so that nobody writes a key to a file. An empty
// CA means the machine's trust store. The server is verified in every case: by the URL's name, or by `server_name`
// where its certificate has another name.
struct HttpTls {
  std::string ca_pem, cert_pem, key_pem;
  std::string server_name{};
};

// A body too large for memory: it is read while it is sent, and from the start again if the request is repeated (after
// a dead kept connection, or a redirect). Fewer bytes than promised end the request like a broken connection.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual int64_t bytes() const = 0;
  virtual size_t read(char* to, size_t room) = 0;  // 0: the end
  virtual void rewind() = 0;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  Headers headers;
  Headers secret_headers{};  // sent too, and never shown by TACHO_DEBUG_HTTP, whatever they are called
  std::string body;
  BodySource* source = nullptr;  // in place of body
  bool has_body = false;         // a POST without body sends Content-Length: 0
  int64_t connect_ms = 10'000;   // DNS, connect and TLS
  int64_t stalled_ms = 15'000;   // no progress while sending
  int64_t response_ms = 30'000;  // from the end of sending to the end of the answer
  int64_t total_ms = 60'000;     // redirects included
  size_t body_limit = 16u << 20;
  // More than 0: an answer counts as soon as its head is there. The body is waited for so long, and is then what came
  // of it, up to body_limit: whoever repeats what the server has taken would have it there twice.
  int64_t body_is_optional_ms = 0;
  bool use_proxy = true;     // never for metadata servers
  bool accept_gzip = false;  // the answer may come compressed; body is plain and body_limit counts plain bytes
  int redirects = 0;         // followed at most so often, to the same host only, never from https to http
  // A 303 is followed by a GET without the body; false where only an answer to the body says anything.
  bool follows_see_other = true;
  HttpTls tls;
  // A stream: the body of a 2xx answer comes here piece by piece and is not kept. False ends the request with
  // Code::gone.
  std::function<bool(std::string_view piece)> on_chunk;
  int64_t idle_ms =
      0;  // more than 0: the longest silence in an answer of any length; response_ms and total_ms do not count
};

struct HttpResponse {
  int status = 0;
  Headers headers;  // names in lower case
  std::string body;
  std::string_view header(std::string_view lower_name) const;  // empty when absent
};

class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  // An Error means that there was no answer: Code::io (temporary: connect, TLS, reset, time-out), Code::denied (the
  // server's certificate is not trusted), Code::invalid (bad URL, refused redirect, certificate store missing, answer
  // too large) or Code::gone (cancelled). A status of 4xx or 5xx is an answer.
  Result<HttpResponse> send(const HttpRequest& request);
  // Whether the last request was sent completely, so that it may have taken effect even if it failed.
  bool sent() const;
  // Cuts a request short. `cancelled` is asked every 100 ms and at every event; a readable stop_fd (−1: none) is
  // noticed at once and is not read. They hold for all requests from now on.
  void on_cancel(std::function<bool()> cancelled);
  bool is_cancelled() const;  // for other waits on the way to a request
  // No request takes longer than until then, on CLOCK_MONOTONIC; 0: its own limits.
  void end_by(int64_t monotonic_ns);
  void set_stop_fd(int stop_fd);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tacho

#include "net/http/url.h"  // check_url and percent_encode, which everyone who sends needs
