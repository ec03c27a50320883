#include "http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/units.h"
#include "http/loop.h"
#include "http/workers.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"

namespace tacho {
namespace {

struct Bound {
  Fd fd;
  uint16_t port = 0;
};

Error refused(const ServerOptions& options, int error_number) {
  const std::string place = options.address + ":" + std::to_string(options.port);
  Error error = system_error("cannot listen", place, error_number);
  if (error_number == EADDRINUSE) error.hint = "another program has the port: stop it, or choose another port";
  if (error_number == EACCES) error.hint = "ports below 1024 need a privilege: choose a higher one";
  if (error_number == EADDRNOTAVAIL) error.hint = "this machine does not have that address; 0.0.0.0 is all of them";
  return error;
}

// `error_number` tells why a usable address was refused.
Result<Bound> bind_once(const ServerOptions& options, int& error_number) {
  std::string address = options.address;
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  sockaddr_in6 six{};
  sockaddr_in four{};
  sockaddr* where = nullptr;
  socklen_t size = 0;
  if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(options.port);
    where = reinterpret_cast<sockaddr*>(&four);
    size = sizeof four;
  } else if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(options.port);
    where = reinterpret_cast<sockaddr*>(&six);
    size = sizeof six;
  } else {
    return Error{Code::invalid, "not an address to listen on", options.address,
                 "write it in numbers, as in 127.0.0.1 or [::]"};
  }
  Bound bound{Fd(::socket(where->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), 0};
  if (!bound.fd) return refused(options, error_number = errno);
  const int on = 1, off = 0;
  ::setsockopt(bound.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (where->sa_family == AF_INET6) ::setsockopt(bound.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(bound.fd.get(), where, size) != 0 || ::listen(bound.fd.get(), SOMAXCONN) != 0)
    return refused(options, error_number = errno);
  sockaddr_storage got{};
  socklen_t got_size = sizeof got;
  ::getsockname(bound.fd.get(), reinterpret_cast<sockaddr*>(&got), &got_size);
  bound.port = ntohs(got.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(got).sin_port
                                              : reinterpret_cast<sockaddr_in6&>(got).sin6_port);
  return bound;
}

// "All addresses" are those of IPv4 where the kernel has no IPv6, or has it switched off.
Result<Bound> bind_to(ServerOptions options) {
  int error_number = 0;
  Result<Bound> bound = bind_once(options, error_number);
  if (bound || options.address != "[::]" || (error_number != EAFNOSUPPORT && error_number != EADDRNOTAVAIL))
    return bound;
  options.address = "0.0.0.0";
  return bind_once(options, error_number);
}

constexpr int kKept = 64;  // descriptors for everything else in the program

// How many connections the limit of open files allows. It is raised as far as it may be, but no further than needed.
int raise_descriptors(int connections) {
  const auto wanted = static_cast<rlim_t>(connections + connections / 8 + 1 + kKept);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return connections;
  rlimit more = limit;
  more.rlim_cur = std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;
  if (limit.rlim_cur >= wanted) return connections;
  return std::max(1, (static_cast<int>(limit.rlim_cur) - kKept) * 8 / 9 - 1);
}

class Server final : public HttpServer {
 public:
  Server(const ServerOptions& options, Handler handler, Bound bound, std::unique_ptr<TlsFiles> tls)
      : handler_(std::move(handler)),
        bound_(std::move(bound)),
        tls_(std::move(tls)),
        budget_(32 * kMiB, std::max<int64_t>(8 * kMiB, static_cast<int64_t>(options.body_limit) * 16)) {
    shared_.rules = {options.head_ms,    options.body_ms, options.idle_ms,
                     options.body_limit, &budget_,        &shared_.last_answers};
    shared_.tls = tls_.get();
    shared_.connections_limit = raise_descriptors(std::max(1, options.connections));
    shared_.slack = shared_.connections_limit / 8 + 1;
    shared_.on_room = [this] { loops_[0]->listen_again(); };
    shared_.on_no_descriptor = [this] {
      for (const auto& loop : loops_) loop->make_room();
    };
    if (options.workers > 0) workers_ = std::make_unique<RequestWorkers>(options.workers, options.handled_bytes);
    shared_.handle = [this](Loop& loop, uint64_t connection, uint64_t number, ServedRequest&& request) {
      request.received_ns = system_clock().monotonic_ns();
      if (!workers_) return loop.answer_now(connection, number, answer_to(request));
      const size_t bytes = request.body.size();
      workers_->add(bytes,
                    [this, &loop, connection, number, request = std::make_shared<ServedRequest>(std::move(request))] {
                      loop.answer(connection, number, answer_to(*request));
                    });
    };
    for (int i = 0; i < std::max(1, options.threads); i++) loops_.push_back(std::make_unique<Loop>(shared_));
  }
  ~Server() override { stop(0); }

  void start() {
    for (const auto& loop : loops_) loop->start();
    loops_[0]->listen(bound_.fd.get(), [this](Fd client) {
      // To the loop with the fewest; where there are too many, to that with the most, which has one to let go.
      const auto less = [](const auto& a, const auto& b) { return a->load() < b->load(); };
      const bool full = shared_.connections.load() > shared_.connections_limit;
      const auto loop = full ? std::max_element(loops_.begin(), loops_.end(), less)
                             : std::min_element(loops_.begin(), loops_.end(), less);
      (*loop)->adopt(std::move(client));
    });
    started_ = true;
  }
  uint16_t port() const override { return bound_.port; }

  void stop(int64_t drain_ms) override {
    const std::lock_guard lock(stopping_);
    if (!started_) return;
    started_ = false;
    const int64_t until_ns = system_clock().monotonic_ns() + std::max<int64_t>(0, drain_ms) * kNsPerMs;
    shared_.last_answers = true;
    loops_[0]->stop_listening();  // first: what it still takes is handed to the others before they end
    for (const auto& loop : loops_) loop->drain(until_ns);
    for (const auto& loop : loops_) loop->join();
    if (workers_) workers_->stop();  // their loops still exist, so that a late answer has where to go
    bound_.fd.reset();
  }

  void announce_stop() override { shared_.last_answers = true; }
  Status reload() override { return tls_ ? tls_->reload() : ok(); }

 private:
  ServedResponse answer_to(const ServedRequest& request) {
    try {
      return handler_(request);
    } catch (const std::exception& error) {
      log::warn(std::string("a request could not be worked on: ") + error.what());
    } catch (...) { log::warn("a request could not be worked on"); }
    ServedResponse failed;
    failed.status = 500;
    failed.body = "this could not be worked on\n";
    return failed;
  }

  Handler handler_;
  Bound bound_;
  std::unique_ptr<TlsFiles> tls_;
  BodyBudget budget_;
  Loop::Shared shared_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<RequestWorkers> workers_;
  std::mutex stopping_;
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(ServerOptions options, Handler handler) {
  ignore_broken_pipes();  // OpenSSL writes without MSG_NOSIGNAL
  std::unique_ptr<TlsFiles> tls;
  if (options.tls) {
    Result<std::unique_ptr<TlsFiles>> opened = TlsFiles::open(options.files);
    if (!opened) return opened.error();
    tls = std::move(*opened);
  }
  Result<Bound> bound = bind_to(options);
  if (!bound) return bound.error();
  auto server = std::make_unique<Server>(options, std::move(handler), std::move(*bound), std::move(tls));
  server->start();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tacho
