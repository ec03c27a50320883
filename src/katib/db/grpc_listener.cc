#include "katib/db/grpc_listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kPauseNs = 20 * kNsPerMs;
// Who takes nothing of what is written to it for so long is gone: gRPC would wait for it for ever, also at its end.
constexpr unsigned kNotReadMs = 20'000;

Error unknown_host(const std::string& host, int error) {
  return {Code::io, std::string("the host's name is not known: ") + ::gai_strerror(error), host,
          "listen on an address in numbers, as in 127.0.0.1"};
}

// In numbers, each once: "localhost" may be two.
Result<std::vector<std::string>> addresses_of(std::string host) {
  if (host == "0.0.0.0" || host == "[::]" || host == "::") return std::vector<std::string>{"[::]"};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0)
    return unknown_host(host, error);
  std::vector<std::string> out;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST] = "";
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  ::freeaddrinfo(list);
  return out;
}

}  // namespace

Result<std::unique_ptr<GrpcListener>> GrpcListener::open(const std::string& place) {
  const size_t colon = place.rfind(':');
  uint16_t port = parse_int<uint16_t>(std::string_view(place).substr(colon + 1)).value_or(0);
  const Result<std::vector<std::string>> addresses = addresses_of(place.substr(0, colon));
  if (!addresses) return addresses.error();
  std::vector<ListeningSocket> sockets;
  std::optional<Error> why;
  for (const std::string& address : *addresses) {
    Result<ListeningSocket> bound = listen_on(address, port);
    if (bound) {
      port = bound->port;  // where any was asked for, all get the same
      sockets.push_back(std::move(*bound));
    } else {
      why = bound.error();
    }
  }
  // "localhost" is ::1, too, on machines that have no IPv6.
  if (sockets.empty()) return why.value_or(unknown_host(place, EAI_NONAME));
  return std::unique_ptr<GrpcListener>(new GrpcListener(std::move(sockets)));
}

void GrpcListener::start(std::function<void(Fd)> take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { run(); });
}

void GrpcListener::stop() {
  stopping_ = true;
  for (const ListeningSocket& socket : sockets_) ::shutdown(socket.fd.get(), SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  for (ListeningSocket& socket : sockets_) socket.fd.reset();
}

void GrpcListener::run() {
  std::vector<pollfd> fds;
  for (const ListeningSocket& socket : sockets_) fds.push_back({socket.fd.get(), POLLIN, 0});
  while (!stopping_) {
    if (system_clock().wait(fds, INT64_MAX) <= 0) continue;
    bool room = true;
    for (const pollfd& ready : fds) {
      if (ready.revents != 0) room = accept_from(ready.fd) && room;
    }
    if (!room) system_clock().wait({}, system_clock().monotonic_ns() + kPauseNs);
  }
}

bool GrpcListener::accept_from(int fd) {
  while (!stopping_) {
    Fd client(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (!lacks_room(errno)) return true;
      log::warn(kNoDescriptor);
      return false;
    }
    if (client.get() >= descriptors_.end()) {
      log::warn(kNoDescriptor);
      continue;
    }
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kNotReadMs, sizeof kNotReadMs);
    take_(std::move(client));
  }
  return true;
}

}  // namespace tacho
