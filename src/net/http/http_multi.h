// Many small requests at once in one poll loop, bodies bounded, no redirect followed. For metadata services: plain
// http, never a proxy, a new connection for every request, nothing repeated, and few requests at one server at a time:
// a small server's queue is short, and a request that does not fit into it is lost for a second. For remote services:
// TLS verified, HTTP/2 where it is agreed on, the environment's proxy, connections kept. On libcurl's multi interface
// (7.87 for CURLOPT_QUICK_EXIT: a name that hangs in the resolver holds nobody up at the end). Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>

#include "net/http/http.h"

namespace tacho {

enum class HttpFailure {
  none,             // there is an answer, of whatever status
  unreachable,      // no such name, no route, refused
  connect_timeout,  // nobody takes the connection
  timeout,          // connected, but no complete answer in time
  reset,            // the connection broke
  refused,          // an answer that is not taken: too large, or no HTTP
};

struct HttpReply {
  HttpFailure failure = HttpFailure::none;
  HttpResponse response;
  bool ok() const { return failure == HttpFailure::none && response.status >= 200 && response.status < 300; }
};

class HttpMulti {
 public:
  enum class Kind { metadata, remote };
  explicit HttpMulti(Kind kind = Kind::metadata);
  ~HttpMulti();
  HttpMulti(const HttpMulti&) = delete;
  HttpMulti& operator=(const HttpMulti&) = delete;

  // Of the request, only method, url, headers, connect_ms, response_ms (from the connection to the complete answer),
  // total_ms and body_limit count; a PUT or POST has no body. `id` is the caller's and unique among the open ones.
  void add(uint64_t id, const HttpRequest& request);
  void cancel(uint64_t id);
  size_t open() const;

  // Works until one request is finished (true; it is moved into id and reply) or until_ns of CLOCK_MONOTONIC has come.
  bool next(int64_t until_ns, uint64_t& id, HttpReply& reply);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tacho
