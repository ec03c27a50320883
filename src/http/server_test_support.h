// For tests of the server: certificates, a server that echoes, and clients that send what a test likes, whole or in
// part.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "http/server.h"
#include "os/fd.h"

namespace tacho::served {

namespace fs = std::filesystem;

inline std::string shell(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(("( " + command + " ) 2>&1").c_str(), "r");
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  ::pclose(pipe);
  return text;
}

// A folder with a CA, a certificate of the server, and one for a client.
class Certificates {
 public:
  Certificates() {
    std::string name = fs::temp_directory_path() / "tacho-http-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    make("ca", "/CN=test ca", "");
    issue("server");
    issue("client");
  }
  ~Certificates() { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void issue(const std::string& name) const {
    const std::string base = folder_ + "/" + name;
    shell("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout " + base + ".new.key -out " +
          base + ".csr -subj /CN=" + name +
          " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 && openssl x509 -req -in " + base + ".csr -CA " +
          file("ca.crt") + " -CAkey " + file("ca.key") + " -CAcreateserial -copy_extensions copy -days 2 -out " + base +
          ".new.crt && mv " + base + ".new.key " + base + ".key && mv " + base + ".new.crt " + base + ".crt");
  }

 private:
  void make(const std::string& name, const std::string& subject, const std::string&) const {
    shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout " +
          file(name + ".key") + " -out " + file(name + ".crt") + " -subj '" + subject + "'");
  }
  std::string folder_;
};

inline const Certificates& certificates() {
  static const Certificates kMade;
  return kMade;
}

inline ServedResponse echo(const ServedRequest& request) {
  ServedResponse response;
  if (request.path == "/slow") std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (request.path == "/large") {
    response.body.assign(5u << 20, 'x');
    return response;
  }
  response.body = request.method + " " + request.path + " [" + request.query + "] " +
                  std::to_string(request.body.size()) + " " + std::string(request.header("x-test")) +
                  (request.has_client_certificate ? " certified" : "") + "\n";
  return response;
}

inline std::unique_ptr<HttpServer> serve(ServerOptions options, Handler handler = echo) {
  options.address = "127.0.0.1";
  Result<std::unique_ptr<HttpServer>> opened = HttpServer::open(options, std::move(handler));
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
  return opened ? std::move(*opened) : nullptr;
}

inline ServerOptions with_tls(bool client_ca = false) {
  ServerOptions options;
  options.tls = true;
  options.files = {certificates().file("server.crt"), certificates().file("server.key"),
                   client_ca ? certificates().file("ca.crt") : ""};
  options.body_limit = 3u << 20;
  return options;
}

// A raw connection: what is sent, and all that comes back until the server closes.
class Raw {
 public:
  explicit Raw(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    const timeval limit{20, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  bool connected() const { return connected_; }
  void send(std::string_view text) { ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  void end() { ::shutdown(fd_.get(), SHUT_WR); }
  void hold_little() {  // of what is sent, in the kernel
    const int bytes = 64 << 10;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  std::string read_some() {
    char buffer[65536];
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
  }
  std::string read_all() {
    std::string all;
    for (std::string part = read_some(); !part.empty(); part = read_some()) all += part;
    return all;
  }

 private:
  Fd fd_;
  bool connected_ = false;
};

// A client whose TLS records are sent when the test likes, whole or in part.
class Records {
 public:
  explicit Records(uint16_t port) : raw_(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_);
    while (SSL_do_handshake(ssl_) != 1) {
      raw_.send(made());
      const std::string answer = raw_.read_some();
      if (answer.empty()) return;
      BIO_write(SSL_get_rbio(ssl_), answer.data(), static_cast<int>(answer.size()));
    }
    raw_.send(made());
  }
  ~Records() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  std::string record(std::string_view text) {
    SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    return made();
  }
  std::string key_updates(int count) {
    for (int i = 0; i < count; i++) {
      SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED);
      SSL_do_handshake(ssl_);
    }
    return made();
  }
  std::string read_some() {
    while (true) {
      const std::string more = raw_.read_some();
      const std::string text = decrypted(more);
      if (more.empty() || !text.empty()) return text;
    }
  }
  std::string read_all() { return decrypted(raw_.read_all()); }
  Raw& raw() { return raw_; }

 private:
  std::string decrypted(const std::string& all) {
    BIO_write(SSL_get_rbio(ssl_), all.data(), static_cast<int>(all.size()));
    std::string text;
    char buffer[4096];
    for (int got = SSL_read(ssl_, buffer, sizeof buffer); got > 0; got = SSL_read(ssl_, buffer, sizeof buffer))
      text.append(buffer, static_cast<size_t>(got));
    return text;
  }
  std::string made() {
    std::string out(BIO_ctrl_pending(SSL_get_wbio(ssl_)), '\0');
    if (!out.empty()) BIO_read(SSL_get_wbio(ssl_), out.data(), static_cast<int>(out.size()));
    return out;
  }
  Raw raw_;
  SSL_CTX* context_;
  SSL* ssl_;
};

inline std::string converse(uint16_t port, std::string_view text) {
  Raw raw(port);
  raw.send(text);
  raw.end();
  return raw.read_all();
}

inline std::string curl(uint16_t port, const std::string& options, const std::string& path = "/") {
  return shell("curl -sS -m 20 --cacert " + certificates().file("ca.crt") + " " + options +
               " https://localhost:" + std::to_string(port) + path);
}

}  // namespace tacho::served
