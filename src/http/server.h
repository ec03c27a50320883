// An HTTP server for services of tacho: HTTP/1.1, plain or under TLS, a fixed number of threads, each with a loop of
// its own over its connections. HTTP/2 is left out on purpose: stream resets and closed windows make one client's
// connection as costly as thousands. The handler is called on any of the threads and may block for a moment; where it
// throws, the answer is a 500. Slow clients, large bodies and long heads are cut off; if there are too many
// connections, the one that has waited longest for its client makes room. All functions are thread-safe.
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

struct ServedRequest {
  std::string method, path, query;                           // the path as sent, without query
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool has_client_certificate = false;  // a verified one
  int64_t received_ns = 0;  // when it was complete, by CLOCK_MONOTONIC; it may have waited for a worker since
  std::string_view header(std::string_view lower_name) const;  // empty when absent
};

struct ServedResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Files in PEM; reloaded when they change, without dropping a connection.
struct ServerTls {
  std::string cert_file, key_file;
  std::string client_ca_file;  // not empty: a client without a certificate of this CA is refused
};

struct ServerOptions {
  std::string address = "0.0.0.0";  // a literal address; "[::]" for both families
  uint16_t port = 0;                // 0: any, see port()
  int threads = 1;
  int workers = 0;               // more than 0: the handler runs on this many threads of its own and may wait there
  size_t body_limit = 1u << 20;  // more: 413
  // Bytes of all bodies that workers handle at a time (a larger one is handled alone). What a handler makes of a body
  // takes a multiple of it. Bodies that arrive or wait are bounded, too, by sixteen of the largest. Beyond that the
  // slowest get 503, or the new one if none is slow (http/body_budget.h).
  size_t handled_bytes = 4u << 20;
  int64_t head_ms = 10'000, body_ms = 30'000, idle_ms = 120'000;  // the hand shake and a head; a body; between requests
  int connections = 1'000;                                        // lowered where there are too few descriptors
  bool tls = false;
  ServerTls files;
};

using Handler = std::function<ServedResponse(const ServedRequest&)>;

class HttpServer {
 public:
  // Listens at once; an Error names the address and what to do.
  static Result<std::unique_ptr<HttpServer>> open(ServerOptions options, Handler handler);
  virtual ~HttpServer() = default;
  virtual uint16_t port() const = 0;
  // Requests are taken as before, but each answer says that it is the connection's last, so that clients go elsewhere
  // before stop() ends idle connections.
  virtual void announce_stop() = 0;
  // Takes no new connections except those that the kernel already has; requests that have begun to arrive are answered
  // within `drain_ms`, then the threads end.
  virtual void stop(int64_t drain_ms) = 0;
  // Looks at the certificate files again, now. An Error keeps the old ones.
  virtual Status reload() = 0;
};

}  // namespace tacho
