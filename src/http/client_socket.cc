#include "http/client_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

Error too_late(std::string_view what) { return Error{Code::io, std::string(what) + " in time", "", ""}; }

std::string tls_reason() {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

struct Addresses {
  addrinfo* list = nullptr;
  ~Addresses() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
};

}  // namespace

struct ClientSocket::Tls {
  SSL_CTX* context = nullptr;
  SSL* session = nullptr;
  ~Tls() {
    SSL_free(session);
    SSL_CTX_free(context);
  }
};

ClientSocket::ClientSocket(Fd fd, std::unique_ptr<Tls> tls) : fd_(std::move(fd)), tls_(std::move(tls)) {}
ClientSocket::ClientSocket(ClientSocket&&) noexcept = default;
ClientSocket& ClientSocket::operator=(ClientSocket&&) noexcept = default;
ClientSocket::~ClientSocket() = default;

Status ClientSocket::wait(short events, int64_t deadline_ns) const {
  pollfd ready{fd_.get(), events, 0};
  if (system_clock().wait({&ready, 1}, deadline_ns) > 0) return ok();
  return too_late("the peer did not answer");
}

Result<ClientSocket> ClientSocket::open(const ClientAddress& address, int64_t deadline_ns) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  Addresses found;
  const std::string port = std::to_string(address.port);
  if (const int error = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found.list); error != 0)
    return Error{Code::io, std::string("the host's name is not known: ") + ::gai_strerror(error), address.host, ""};
  Error last{Code::io, "cannot connect", address.host + ":" + port, ""};
  for (const addrinfo* it = found.list; it != nullptr; it = it->ai_next) {
    Fd fd(::socket(it->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) continue;
    ClientSocket out(std::move(fd), nullptr);
    int error = ::connect(out.fd_.get(), it->ai_addr, it->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      if (const Status status = out.wait(POLLOUT, deadline_ns); !status) return status.error();
      socklen_t size = sizeof error;
      ::getsockopt(out.fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
      last = system_error("cannot connect", address.host + ":" + port, error);
      if (error == ECONNREFUSED) last.code = Code::gone;
      continue;
    }
    const int yes = 1;
    ::setsockopt(out.fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (address.tls)
      if (const Status status = out.start_tls(address, deadline_ns); !status) return status.error();
    return out;
  }
  return last;
}

Status ClientSocket::start_tls(const ClientAddress& address, int64_t deadline_ns) {
  tls_ = std::make_unique<Tls>();
  tls_->context = SSL_CTX_new(TLS_client_method());
  if (tls_->context == nullptr) return Error{Code::io, "TLS cannot be set up: " + tls_reason(), "", ""};
  SSL_CTX_set_min_proto_version(tls_->context, TLS1_2_VERSION);
  if (!address.ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(tls_->context, address.ca_file.c_str(), nullptr) != 1)
      return Error{Code::invalid, "cannot read the CA: " + tls_reason(), address.ca_file, "it must be a PEM file"};
    SSL_CTX_set_verify(tls_->context, SSL_VERIFY_PEER, nullptr);
  }
  tls_->session = SSL_new(tls_->context);
  if (tls_->session == nullptr) return Error{Code::io, "TLS cannot be set up: " + tls_reason(), "", ""};
  in6_addr literal{};
  const bool is_literal = ::inet_pton(AF_INET, address.host.c_str(), &literal) == 1 ||
                          ::inet_pton(AF_INET6, address.host.c_str(), &literal) == 1;
  if (!is_literal) SSL_set_tlsext_host_name(tls_->session, address.host.c_str());
  if (!address.ca_file.empty()) {
    X509_VERIFY_PARAM* rules = SSL_get0_param(tls_->session);
    if (is_literal) X509_VERIFY_PARAM_set1_ip_asc(rules, address.host.c_str());
    else X509_VERIFY_PARAM_set1_host(rules, address.host.c_str(), 0);
  }
  SSL_set_fd(tls_->session, fd_.get());
  for (;;) {
    const int result = SSL_connect(tls_->session);
    if (result == 1) return ok();
    if (const Status status = wait_for_tls(result, "the TLS handshake failed", deadline_ns); !status) return status;
  }
}

Status ClientSocket::wait_for_tls(int result, std::string_view what, int64_t deadline_ns) {
  switch (SSL_get_error(tls_->session, result)) {
    case SSL_ERROR_WANT_READ: return wait(POLLIN, deadline_ns);
    case SSL_ERROR_WANT_WRITE: return wait(POLLOUT, deadline_ns);
    default: return Error{Code::io, std::string(what) + ": " + tls_reason(), "", ""};
  }
}

Status ClientSocket::write(std::string_view text, int64_t deadline_ns) {
  while (!text.empty()) {
    const int part = static_cast<int>(std::min<size_t>(text.size(), INT_MAX));
    const ssize_t size = tls_ != nullptr ? SSL_write(tls_->session, text.data(), part)
                                         : ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    Status status = ok();
    if (size > 0) text.remove_prefix(static_cast<size_t>(size));
    else if (tls_ != nullptr) status = wait_for_tls(static_cast<int>(size), "sending failed", deadline_ns);
    else if (errno == EAGAIN) status = wait(POLLOUT, deadline_ns);
    else if (errno != EINTR) return system_error("sending failed", "", errno);
    if (!status) return status;
  }
  return ok();
}

Result<size_t> ClientSocket::read(std::span<char> buffer, int64_t deadline_ns) {
  for (;;) {
    // Also a peer that sends a byte now and then comes to its end.
    if (system_clock().monotonic_ns() >= deadline_ns) return too_late("the answer did not come");
    const ssize_t size = tls_ != nullptr ? SSL_read(tls_->session, buffer.data(), static_cast<int>(buffer.size()))
                                         : ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (size > 0) return static_cast<size_t>(size);
    Status status = ok();
    if (tls_ != nullptr) {
      const int error = SSL_get_error(tls_->session, static_cast<int>(size));
      if (error == SSL_ERROR_ZERO_RETURN) return size_t{0};
      status = wait_for_tls(static_cast<int>(size), "receiving failed", deadline_ns);
    } else if (size == 0) {
      return size_t{0};
    } else if (errno == EAGAIN) {
      status = wait(POLLIN, deadline_ns);
    } else if (errno != EINTR) {
      return system_error("receiving failed", "", errno);
    }
    if (!status) return status.error();
  }
}

std::optional<std::string> redirect_path(std::string_view location, std::string_view from,
                                         const ClientAddress& address) {
  if (location.empty()) return std::nullopt;
  if (location.starts_with('/') && !location.starts_with("//"))
    return std::string(location.substr(0, location.find('#')));
  const size_t mark = location.find("://");
  if (mark == std::string_view::npos || mark > location.find_first_of("/?#")) {
    // Relative: beside the path that was asked for.
    if (location.find("//") != std::string_view::npos) return std::nullopt;
    const std::string_view folder = from.substr(0, from.substr(0, from.find('?')).rfind('/') + 1);
    return std::string(folder) + std::string(location.substr(0, location.find('#')));
  }
  const std::string scheme = lower(location.substr(0, mark));
  if (scheme != (address.tls ? "https" : "http")) return std::nullopt;
  location = location.substr(
      mark + 3, location.find('#') == std::string_view::npos ? location.npos : location.find('#') - mark - 3);
  const size_t slash = std::min(location.find_first_of("/?"), location.size());
  std::string_view host = location.substr(0, slash), port;
  if (host.starts_with('[')) {
    const size_t bracket = host.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    port = host.substr(bracket + 1);
    host = host.substr(1, bracket - 1);
    if (!port.empty() && port[0] != ':') return std::nullopt;
    if (!port.empty()) port.remove_prefix(1);
  } else if (const size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  const uint16_t usual = address.tls ? 443 : 80;
  const auto number = port.empty() ? std::optional(usual) : parse_int<uint16_t>(port);
  if (!number || *number != address.port || lower(host) != lower(address.host)) return std::nullopt;
  std::string path(location.substr(slash));
  if (!path.starts_with('/')) path.insert(0, "/");
  return path;
}

}  // namespace tacho
