// A small HTTP/1.1 client for one address: GET, keep-alive, chunked bodies passed on as a stream, TLS by OpenSSL.
// Sockets never block; a request ends at its deadline. No proxy, no cookies, no compression. One object is used by one
// thread at a time; looking up a host's name may take longer than the deadline (getaddrinfo).
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

struct HttpTarget {
  bool tls = false;
  std::string host = "127.0.0.1";  // a name or a literal address, IPv6 without brackets
  uint16_t port = 80;
  std::string path = "/";                                    // with its query
  std::vector<std::pair<std::string, std::string>> headers;  // a Host replaces ours
  std::string ca_file;                                       // verify the certificate by this CA; empty: not verified
  size_t body_limit = size_t{64} << 20;
};

struct HttpAnswer {
  int status = 0;
  std::string content_type;
};

class GetClient {
 public:
  // Called with the answer's head before its body comes; false ends the request.
  using OnHead = std::function<bool(const HttpAnswer&)>;
  using OnBody = std::function<void(std::string_view)>;

  explicit GetClient(HttpTarget target);
  ~GetClient();

  // Follows redirects to the same host only. The body of an answer other than 2xx is not passed on. Errors: gone when
  // nobody listens, io otherwise; deadline on CLOCK_MONOTONIC.
  Result<HttpAnswer> get(int64_t deadline_ns, const OnHead& on_head, const OnBody& on_body);

 private:
  struct Connection;
  struct Exchange;
  class AnswerParser;
  Status connect(int64_t deadline_ns);
  // No answer came over a kept connection: the peer had closed it, so a new one is worth a try.
  Status exchange(const std::string& path, int64_t deadline_ns, Exchange& out);

  HttpTarget target_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tacho
