#include "os/listening_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "os/file.h"

namespace tacho {
namespace {

constexpr int kForTheRest = 128;
std::atomic<int> reserved_descriptors = kForTheRest;

Error refused(const std::string& address, uint16_t port, int error_number) {
  Error error = system_error("cannot listen", address + ":" + std::to_string(port), error_number);
  if (error_number == EADDRINUSE)
    error.hint = "is the port taken by another program? stop that one, or choose another port";
  if (error_number == EACCES) error.hint = "ports below 1024 need a privilege: choose a higher one";
  if (error_number == EADDRNOTAVAIL) error.hint = "this machine does not have that address; 0.0.0.0 is all of them";
  return error;
}

// `error_number` tells why a usable address was refused.
Result<ListeningSocket> bind_once(std::string address, uint16_t port, int& error_number) {
  const std::string given = address;
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  sockaddr_in6 six{};
  sockaddr_in four{};
  sockaddr* where = nullptr;
  socklen_t size = 0;
  if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    where = reinterpret_cast<sockaddr*>(&four);
    size = sizeof four;
  } else if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    where = reinterpret_cast<sockaddr*>(&six);
    size = sizeof six;
  } else {
    return Error{Code::invalid, "not an address to listen on", given, "write it in numbers, as in 127.0.0.1 or [::]"};
  }
  ListeningSocket bound{Fd(::socket(where->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), 0};
  if (!bound.fd) return refused(given, port, error_number = errno);
  const int on = 1, off = 0;
  ::setsockopt(bound.fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(bound.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // handed down to who is accepted
  if (where->sa_family == AF_INET6) ::setsockopt(bound.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(bound.fd.get(), where, size) != 0 || ::listen(bound.fd.get(), SOMAXCONN) != 0)
    return refused(given, port, error_number = errno);
  sockaddr_storage got{};
  socklen_t got_size = sizeof got;
  ::getsockname(bound.fd.get(), reinterpret_cast<sockaddr*>(&got), &got_size);
  bound.port = ntohs(got.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(got).sin_port
                                              : reinterpret_cast<sockaddr_in6&>(got).sin6_port);
  return bound;
}

}  // namespace

Result<ListeningSocket> listen_on(const std::string& address, uint16_t port) {
  int error_number = 0;
  Result<ListeningSocket> bound = bind_once(address, port, error_number);
  if (bound || address != "[::]" || (error_number != EAFNOSUPPORT && error_number != EADDRNOTAVAIL)) return bound;
  return bind_once("0.0.0.0", port, error_number);
}

ReservedDescriptors::ReservedDescriptors(int wanted) {
  const int before = reserved_descriptors.fetch_add(wanted);
  const auto all = static_cast<rlim_t>(before + wanted);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < all) {
    rlimit more = limit;
    more.rlim_cur = std::min(all, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;
  } else {
    limit.rlim_cur = all;
  }
  count_ = std::clamp(static_cast<int>(std::min(limit.rlim_cur, all)) - before, 1, wanted);
  end_ = before + count_ - kForTheRest / 2;
  reserved_descriptors.fetch_sub(wanted - count_);
}

ReservedDescriptors::~ReservedDescriptors() { reserved_descriptors.fetch_sub(count_); }

bool lacks_room(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM || error_number == ENOBUFS;
}

}  // namespace tacho
