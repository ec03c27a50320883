// A port for probes or metrics, beside a service's main port. Not thread-safe.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "kube/api/listen_address.h"

namespace tacho {

// Adds a server to the list, or none when the address switches it off.
inline Status open_side_port(const std::string& address, Handler handler, int connections,
                             std::vector<std::unique_ptr<HttpServer>>& servers) {
  const Result<ListenAddress> where = parse_listen(address);
  if (!where) return where.error();
  if (!where->on) return ok();
  ServerOptions options;
  options.address = where->address;
  options.port = where->port;
  options.body_limit = 64 * 1024;
  options.connections = connections;
  options.head_ms = options.body_ms = 2'000;  // probes are quick; whoever is not makes room
  Result<std::unique_ptr<HttpServer>> server = HttpServer::open(std::move(options), std::move(handler));
  if (!server) return server.error();
  servers.push_back(std::move(*server));
  return ok();
}

}  // namespace tacho
