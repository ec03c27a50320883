#include "http/tls.h"

#include <openssl/err.h>
#include <sys/stat.h>

#include "base/log.h"

namespace tacho {
namespace {

// Only the reason: OpenSSL's full text names source files.
std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "not usable" : reason;
}

Error refuse(const std::string& what, const std::string& path) {
  return {Code::invalid, what + ", " + openssl_reason(), path,
          "give files in PEM form that this user may read and that belong together"};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                    unsigned int in_size, void*) {
  static const unsigned char kOffered[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  // The alert no_application_protocol: a client that would speak HTTP/2 only learns it here, not from an odd answer.
  if (SSL_select_next_proto(&chosen, out_size, kOffered, sizeof kOffered - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

Result<std::shared_ptr<SSL_CTX>> make_context(const ServerTls& files) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return refuse("cannot make a TLS context", "");
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                               SSL_OP_IGNORE_UNEXPECTED_EOF);
  // A read ends behind each record that holds no data: whoever sends key updates without end has one thread no longer
  // than others.
  SSL_CTX_clear_mode(raw, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // Ciphers of TLS 1.2 with forward secrecy and authenticated encryption only.
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
  static const unsigned char kName[] = "tacho";
  SSL_CTX_set_session_id_context(raw, kName, sizeof kName - 1);
  // Sessions are resumed by tickets, which the client keeps: a cache here would only grow, to 20,480 of them.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
  // No prompt for a pass phrase: a service has nobody to ask.
  SSL_CTX_set_default_passwd_cb(raw, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(raw, files.cert_file.c_str()) != 1)
    return refuse("cannot load the certificate", files.cert_file);
  if (SSL_CTX_use_PrivateKey_file(raw, files.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return refuse("cannot load the key", files.key_file);
  if (SSL_CTX_check_private_key(raw) != 1) return refuse("the key does not belong to the certificate", files.key_file);
  if (!files.client_ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(raw, files.client_ca_file.c_str(), nullptr) != 1)
      return refuse("cannot load the CA for clients", files.client_ca_file);
    SSL_CTX_set_client_CA_list(raw, SSL_load_client_CA_file(files.client_ca_file.c_str()));
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(const ServerTls& files) {
  std::unique_ptr<TlsFiles> made(new TlsFiles(files));
  if (Status loaded = made->reload(); !loaded) return loaded.error();
  return made;
}

std::shared_ptr<SSL_CTX> TlsFiles::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

std::string TlsFiles::stamp() const {
  std::string text;
  for (const std::string* path : {&files_.cert_file, &files_.key_file, &files_.client_ca_file}) {
    struct stat found {};
    if (path->empty() || ::stat(path->c_str(), &found) != 0) found = {};
    text += std::to_string(found.st_ino) + ' ' + std::to_string(found.st_size) + ' ' +
            std::to_string(found.st_mtim.tv_sec) + '.' + std::to_string(found.st_mtim.tv_nsec) + '\n';
  }
  return text;
}

Status TlsFiles::reload() {
  // The stamp is taken first: files that change while they are read are read again at the next look.
  std::string now = stamp();
  Result<std::shared_ptr<SSL_CTX>> made = make_context(files_);
  const std::lock_guard lock(mutex_);
  stamp_ = std::move(now);
  failed_ = !made;
  if (!made) return made.error();
  context_ = std::move(*made);
  return ok();
}

void TlsFiles::reload_if_changed() {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_ && stamp() == stamp_) return;
  }
  if (Status loaded = reload(); !loaded) log::warn("the certificate in use is kept: " + loaded.error().message());
}

}  // namespace tacho
