// TLS of the server, on OpenSSL 3: one context from the certificate files, replaced as a whole when they change. A
// connection keeps the context that it began with, so none is dropped. TLS 1.2 at the least, no renegotiation; ALPN
// chooses http/1.1, and a client that offers other protocols only is refused. Thread-safe.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <string>

#include "http/server.h"

namespace tacho {

class TlsFiles {
 public:
  static Result<std::unique_ptr<TlsFiles>> open(const ServerTls& files);

  std::shared_ptr<SSL_CTX> context() const;
  Status reload();  // an Error keeps the old context
  // Reloads when a file has changed, or could not be loaded last time: what was missing then may have been memory. An
  // Error is logged once.
  void reload_if_changed();

 private:
  explicit TlsFiles(const ServerTls& files) : files_(files) {}
  std::string stamp() const;  // size, inode and time of every file

  const ServerTls files_;
  mutable std::mutex mutex_;
  std::shared_ptr<SSL_CTX> context_;
  std::string stamp_;
  bool failed_ = false;
};

}  // namespace tacho
