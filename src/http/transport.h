// A connected, non-blocking socket, plain or under TLS. Owned by one thread.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <string_view>

#include "os/fd.h"

namespace tacho {

class Transport {
 public:
  enum class State { done, wants_read, wants_write, closed };

  Transport(Fd fd, SSL_CTX* context);  // nullptr: plain
  int fd() const { return fd_.get(); }
  State handshake();
  State read(char* to, size_t room, size_t& got);
  State write(std::string_view bytes, size_t& sent);
  void end_sending();  // our last word: close_notify and FIN
  // Whether bytes can be read at once that the kernel does not know of. Half a record does not count: its rest comes
  // through the socket.
  bool has_pending() const { return ssl_ && !broken_ && SSL_pending(ssl_.get()) > 0; }
  // A TLS record has begun to arrive.
  bool has_begun() const { return ssl_ && !broken_ && SSL_has_pending(ssl_.get()) == 1; }
  bool has_client_certificate() const;

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  State state_of(int result);

  Fd fd_;
  std::unique_ptr<SSL, Free> ssl_;
  bool broken_ = false;
};

}  // namespace tacho
