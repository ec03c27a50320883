#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "os/fd.h"
#include "os/file.h"

namespace tacho {
namespace {

namespace fs = std::filesystem;

std::string shell(const std::string& command) {
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

const Certificates& certificates() {
  static const Certificates kMade;
  return kMade;
}

ServedResponse echo(const ServedRequest& request) {
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

std::unique_ptr<HttpServer> serve(ServerOptions options, Handler handler = echo) {
  options.address = "127.0.0.1";
  Result<std::unique_ptr<HttpServer>> opened = HttpServer::open(options, std::move(handler));
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
  return opened ? std::move(*opened) : nullptr;
}

ServerOptions with_tls(bool client_ca = false) {
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

std::string converse(uint16_t port, std::string_view text) {
  Raw raw(port);
  raw.send(text);
  raw.end();
  return raw.read_all();
}

TEST(HttpServer, AnswersOverPlainHttp) {
  const auto server = serve({});
  const std::string answer =
      converse(server->port(), "GET /a/b?c=d HTTP/1.1\r\nHost: x\r\nX-Test:  yes \r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("HTTP/1.1 200 OK\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("GET /a/b [c=d] 0 yes\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("connection: close\r\n"), std::string::npos);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  for (const int workers : {0, 3}) {
    ServerOptions options;
    options.workers = workers;
    const auto server = serve(options);
    const std::string answer = converse(
        server->port(),
        "POST /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nxy\r\n2\r\nzz\r\n0\r\n\r\nHEAD /3 HTTP/1.1\r\n\r\nGET /4 HTTP/1.0\r\n\r\nGET /never HTTP/1.1\r\n\r\n");
    const size_t one = answer.find("POST /1 [] 3"), two = answer.find("POST /2 [] 4"), four = answer.find("GET /4");
    EXPECT_NE(one, std::string::npos) << answer;
    EXPECT_LT(one, two);
    EXPECT_LT(two, four);
    EXPECT_EQ(answer.find("HEAD /3"), std::string::npos) << "a HEAD has no body";
    EXPECT_EQ(answer.find("never"), std::string::npos) << "HTTP/1.0 ends the connection";
  }
}

TEST(HttpServer, RefusesWhatIsMalformed) {
  ServerOptions options;
  options.body_limit = 100;
  const auto server = serve(options);
  const uint16_t port = server->port();
  const std::string long_head(70'000, 'a');
  EXPECT_EQ(converse(port, "nonsense\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(port, std::string("\x16\x03\x01\x02\x00\x01\x00", 7)).substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(port, "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n").substr(0, 12),
            "HTTP/1.1 400");
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x')).substr(0, 12),
            "HTTP/1.1 413");
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x'))
                .substr(0, 12),
            "HTTP/1.1 413");
  EXPECT_EQ(converse(port, "GET / HTTP/1.1\r\nX: " + long_head + "\r\n\r\n").substr(0, 12), "HTTP/1.1 431");
  EXPECT_EQ(converse(port, "CONNECT a:1 HTTP/1.1\r\n\r\n").substr(0, 12), "HTTP/1.1 405");
  EXPECT_EQ(converse(port, "").size(), 0u);
  EXPECT_EQ(converse(port, "GET / HTTP/1.1\r\nHost: x\r\n").size(), 0u);
  EXPECT_NE(converse(port, "GET /still HTTP/1.1\r\n\r\n").find("/still"), std::string::npos);
}

TEST(HttpServer, SaysContinueToThoseWhoWait) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(raw.read_some(), "HTTP/1.1 100 Continue\r\n\r\n");
  raw.send("ab");
  EXPECT_NE(raw.read_all().find("POST / [] 2"), std::string::npos);
}

TEST(HttpServer, CutsOffSlowClients) {
  ServerOptions options;
  options.head_ms = 100;
  options.body_ms = 100;
  options.idle_ms = 100;
  const auto server = serve(options);
  Raw silent(server->port());
  EXPECT_EQ(silent.read_all(), "");
  Raw head(server->port());
  head.send("GET / HTTP/1.1\r\nX: ");
  EXPECT_EQ(head.read_all(), "");
  Raw body(server->port());
  body.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(body.read_all(), "");
  Raw idle(server->port());
  idle.send("GET /x HTTP/1.1\r\n\r\n");
  EXPECT_NE(idle.read_all().find("/x"), std::string::npos);
}

TEST(HttpServer, HoldsConnectionsOverTheLimitBack) {
  ServerOptions options;
  options.connections = 2;
  const auto server = serve(options);
  auto first = std::make_unique<Raw>(server->port());
  Raw second(server->port());
  first->send("GET /1 HTTP/1.1\r\n\r\n");
  second.send("GET /2 HTTP/1.1\r\n\r\n");
  EXPECT_NE(first->read_some().find("/1"), std::string::npos);
  EXPECT_NE(second.read_some().find("/2"), std::string::npos);
  Raw third(server->port());
  EXPECT_TRUE(third.connected()) << "the kernel's queue takes it";
  third.send("GET /3 HTTP/1.1\r\n\r\n");
  first.reset();
  EXPECT_NE(third.read_some().find("/3"), std::string::npos);
}

TEST(HttpServer, TellsWhyItCannotListen) {
  const auto server = serve({});
  ServerOptions options;
  options.address = "127.0.0.1";
  options.port = server->port();
  const auto again = HttpServer::open(options, echo);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message().find("choose another port"), std::string::npos) << again.error().message();
  options.address = "localhost";
  EXPECT_FALSE(HttpServer::open(options, echo));
  options.tls = true;
  options.files.cert_file = "/nonexistent";
  options.address = "127.0.0.1";
  const auto no_files = HttpServer::open(options, echo);
  ASSERT_FALSE(no_files);
  EXPECT_NE(no_files.error().message().find("/nonexistent"), std::string::npos);
}

std::string curl(uint16_t port, const std::string& options, const std::string& path = "/") {
  return shell("curl -sS -m 20 --cacert " + certificates().file("ca.crt") + " " + options +
               " https://localhost:" + std::to_string(port) + path);
}

TEST(HttpServer, SpeaksBothProtocolsUnderTls) {
  for (const int workers : {0, 2}) {
    ServerOptions options = with_tls();
    options.workers = workers;
    const auto server = serve(options);
    const std::string format = "-w '%{http_code} %{http_version}\\n' -H 'X-Test: t' -d hello ";
    EXPECT_EQ(curl(server->port(), "--http1.1 " + format, "/p?q=1"), "POST /p [q=1] 5 t\n200 1.1\n");
    EXPECT_EQ(curl(server->port(), "--http2 " + format, "/p?q=1"), "POST /p [q=1] 5 t\n200 2\n");
    EXPECT_EQ(curl(server->port(), "--http2 -o /dev/null -w '%{size_download}'", "/large"), "5242880");
    EXPECT_EQ(curl(server->port(), "--http1.1 -o /dev/null -w '%{size_download}'", "/large"), "5242880");
    EXPECT_NE(curl(server->port(), "--http2 -I", "/head").find("HTTP/2 200"), std::string::npos);
  }
}

TEST(HttpServer, RefusesLargeBodiesUnderTls) {
  const auto server = serve(with_tls());
  const std::string file = certificates().file("large");
  std::ofstream(file) << std::string((3u << 20) + 1, 'x');
  for (const char* version : {"--http1.1", "--http2"}) {
    EXPECT_EQ(curl(server->port(), std::string(version) + " -o /dev/null -w '%{http_code}' --data-binary @" + file),
              "413")
        << version;
    EXPECT_EQ(curl(server->port(),
                   std::string(version) +
                       " -H 'Transfer-Encoding: chunked' -o /dev/null -w '%{http_code}' --data-binary @" + file),
              "413")
        << version;
  }
  std::ofstream(file, std::ios::trunc) << std::string(3u << 20, 'x');
  EXPECT_EQ(curl(server->port(), "--http2 --data-binary @" + file), "POST / [] 3145728 \n");
}

TEST(HttpServer, RefusesOldTls) {
  const auto server = serve(with_tls());
  const std::string to = " -connect 127.0.0.1:" + std::to_string(server->port()) + " < /dev/null";
  EXPECT_NE(shell("openssl s_client -tls1_2" + to).find("Cipher is ECDHE"), std::string::npos);
  EXPECT_NE(shell("openssl s_client -tls1_3" + to).find("TLSv1.3"), std::string::npos);
  EXPECT_NE(shell("openssl s_client -tls1_1 -cipher DEFAULT@SECLEVEL=0" + to).find("alert protocol version"),
            std::string::npos);
  EXPECT_NE(converse(server->port(), "GET / HTTP/1.1\r\n\r\n").find("HTTP/1.1 200"), 0u)
      << "no plain HTTP on a TLS port";
}

TEST(HttpServer, DemandsTheClientsCertificate) {
  const auto server = serve(with_tls(true));
  const std::string mine =
      " --cert " + certificates().file("client.crt") + " --key " + certificates().file("client.key");
  EXPECT_EQ(curl(server->port(), mine), "GET / [] 0  certified\n");
  EXPECT_EQ(curl(server->port(), "--http1.1" + mine), "GET / [] 0  certified\n");
  EXPECT_NE(curl(server->port(), "").find("curl:"), std::string::npos) << "a client without one is refused";
}

TEST(HttpServer, ReloadsItsFilesWithoutDroppingAConnection) {
  const Certificates own;
  ServerOptions options = with_tls();
  options.files = {own.file("server.crt"), own.file("server.key"), ""};
  const auto server = serve(options);
  const auto serial = [&] {
    return shell("openssl s_client -connect 127.0.0.1:" + std::to_string(server->port()) +
                 " < /dev/null 2>/dev/null | openssl x509 -noout -serial");
  };
  // curl keeps one connection for both of its requests, the second of which is asked for after the change.
  std::string kept;
  std::thread client([&] {
    kept =
        shell("curl -sS -m 20 --rate 30/m --cacert " + own.file("ca.crt") +
              " -w '%{num_connects} ' -o /dev/null -o /dev/null https://localhost:" + std::to_string(server->port()) +
              "/[1-2]");
  });
  const std::string before = serial();
  own.issue("server");
  EXPECT_TRUE(server->reload());
  EXPECT_NE(serial(), before);
  client.join();
  EXPECT_EQ(kept, "1 0 ");
  // Damage keeps what was good.
  const std::string good = serial();
  std::ofstream(own.file("server.crt"), std::ios::trunc) << "no certificate";
  const Status bad = server->reload();
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("server.crt"), std::string::npos);
  EXPECT_EQ(serial(), good);
}

TEST(HttpServer, SlowHandlersDoNotHoldOthersUp) {
  ServerOptions options = with_tls();
  options.workers = 4;
  std::atomic<int> running = 0, most = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    const int now = ++running;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    ServedResponse response = echo(request);
    running--;
    return response;
  });
  const std::string out =
      curl(server->port(), "--http2 -Z --no-progress-meter -o /dev/null -w '%{http_code} '", "/slow?[1-4]");
  EXPECT_EQ(out, "200 200 200 200 ");
  EXPECT_GT(most.load(), 1) << "several requests run at a time";
}

TEST(HttpServer, FinishesWhatRunsWhenItStops) {
  for (const char* version : {"--http1.1", "--http2"}) {
    ServerOptions options = with_tls();
    options.workers = 2;
    std::atomic<int> entered = 0;
    const auto server = serve(options, [&](const ServedRequest& request) {
      entered++;
      return echo(request);
    });
    std::string answer;
    std::thread client([&] { answer = curl(server->port(), version, "/slow"); });
    while (entered.load() == 0) std::this_thread::yield();
    server->stop(10'000);
    client.join();
    EXPECT_EQ(answer, "GET /slow [] 0 \n") << version;
    EXPECT_NE(curl(server->port(), version).find("curl: (7)"), std::string::npos) << "nobody listens any more";
  }
}

TEST(HttpServer, StopsAtOnceWithIdleClients) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_NE(raw.read_some(), "");
  std::thread stopper([&] { server->stop(60'000); });
  stopper.join();
  EXPECT_EQ(raw.read_all(), "");
}

}  // namespace
}  // namespace tacho
