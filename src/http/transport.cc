#include "http/transport.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "base/log.h"

namespace tacho {

Transport::Transport(Fd fd, SSL_CTX* context) : fd_(std::move(fd)) {
  if (context == nullptr) return;
  ssl_.reset(SSL_new(context));
  if (!ssl_ || SSL_set_fd(ssl_.get(), fd_.get()) != 1) {
    broken_ = true;
    return;
  }
  SSL_set_accept_state(ssl_.get());
}

Transport::State Transport::state_of(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return State::wants_read;
    case SSL_ERROR_WANT_WRITE: return State::wants_write;
    default: break;
  }
  ERR_clear_error();
  broken_ = true;  // OpenSSL forbids any further call but SSL_free
  return State::closed;
}

Transport::State Transport::handshake() {
  if (broken_) return State::closed;
  if (!ssl_) return State::done;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return State::done;
  // A client without the certificate that is asked for, or one that speaks an older TLS. One that just goes is none.
  if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_SSL) {
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    log::warn(std::string("a client was refused in the TLS handshake: ") + (reason == nullptr ? "unknown" : reason));
  }
  return state_of(result);
}

Transport::State Transport::read(char* to, size_t room, size_t& got) {
  got = 0;
  if (broken_) return State::closed;
  if (ssl_) {
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), to, room, &got);
    return result == 1 ? State::done : state_of(result);
  }
  const ssize_t size = ::recv(fd_.get(), to, room, 0);
  if (size > 0) return got = static_cast<size_t>(size), State::done;
  return size < 0 && (errno == EAGAIN || errno == EINTR) ? State::wants_read : State::closed;
}

Transport::State Transport::write(std::string_view bytes, size_t& sent) {
  sent = 0;
  if (broken_) return State::closed;
  if (ssl_) {
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    return result == 1 ? State::done : state_of(result);
  }
  const ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (size >= 0) return sent = static_cast<size_t>(size), State::done;
  return errno == EAGAIN || errno == EINTR ? State::wants_write : State::closed;
}

void Transport::end_sending() {
  if (ssl_ && !broken_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  ::shutdown(fd_.get(), SHUT_WR);
}

bool Transport::has_client_certificate() const {
  if (!ssl_ || (SSL_get_verify_mode(ssl_.get()) & SSL_VERIFY_PEER) == 0) return false;
  return SSL_get0_peer_certificate(ssl_.get()) != nullptr && SSL_get_verify_result(ssl_.get()) == X509_V_OK;
}

}  // namespace tacho
