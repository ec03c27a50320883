#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
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

// A client whose records are sent when and as far as the test likes.
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
  std::string read_all() {
    const std::string all = raw_.read_all();
    BIO_write(SSL_get_rbio(ssl_), all.data(), static_cast<int>(all.size()));
    std::string text;
    char buffer[4096];
    for (int got = SSL_read(ssl_, buffer, sizeof buffer); got > 0; got = SSL_read(ssl_, buffer, sizeof buffer))
      text.append(buffer, static_cast<size_t>(got));
    return text;
  }
  Raw& raw() { return raw_; }

 private:
  std::string made() {
    std::string out(BIO_ctrl_pending(SSL_get_wbio(ssl_)), '\0');
    if (!out.empty()) BIO_read(SSL_get_wbio(ssl_), out.data(), static_cast<int>(out.size()));
    return out;
  }
  Raw raw_;
  SSL_CTX* context_;
  SSL* ssl_;
};

std::string converse(uint16_t port, std::string_view text) {
  Raw raw(port);
  raw.send(text);
  raw.end();
  return raw.read_all();
}

std::string curl(uint16_t port, const std::string& options, const std::string& path = "/") {
  return shell("curl -sS -m 20 --cacert " + certificates().file("ca.crt") + " " + options +
               " https://localhost:" + std::to_string(port) + path);
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
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPOST /2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nxy\r\n2\r\nzz\r\n0\r\n\r\nHEAD /3 HTTP/1.1\r\nHost: x\r\n\r\nGET /4 HTTP/1.0\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n");
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
  EXPECT_EQ(converse(port, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n").substr(0, 12),
            "HTTP/1.1 400");
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x')).substr(0, 12),
            "HTTP/1.1 413");
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x'))
                .substr(0, 12),
            "HTTP/1.1 413");
  EXPECT_EQ(converse(port, "GET / HTTP/1.1\r\nHost: x\r\nX: " + long_head + "\r\n\r\n").substr(0, 12), "HTTP/1.1 431");
  EXPECT_EQ(converse(port, "CONNECT a:1 HTTP/1.1\r\n\r\n").substr(0, 12), "HTTP/1.1 405");
  EXPECT_EQ(converse(port, "").size(), 0u);
  EXPECT_EQ(converse(port, "GET / HTTP/1.1\r\nHost: x\r\n").size(), 0u);
  EXPECT_NE(converse(port, "GET /still HTTP/1.1\r\nHost: x\r\n\r\n").find("/still"), std::string::npos);
}

TEST(HttpServer, SaysContinueToThoseWhoWait) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
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
  head.send("GET / HTTP/1.1\r\nHost: x\r\nX: ");
  EXPECT_EQ(head.read_all(), "");
  Raw body(server->port());
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(body.read_all(), "");
  Raw idle(server->port());
  idle.send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(idle.read_all().find("/x"), std::string::npos);
}

TEST(HttpServer, TheLongestWaitingConnectionMakesRoom) {
  ServerOptions options;
  options.connections = 2;
  const auto server = serve(options);
  Raw first(server->port()), second(server->port());
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(first.read_some().find("/1"), std::string::npos);
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(second.read_some().find("/2"), std::string::npos);
  Raw third(server->port());
  third.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(third.read_some().find("/3"), std::string::npos);
  EXPECT_EQ(first.read_all(), "") << "the first was idle for longest";
  second.send("GET /2b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(second.read_some().find("/2b"), std::string::npos);
}

TEST(HttpServer, ThoseThatAreAnsweredAreNotCutOffByNewOnes) {
  ServerOptions options;
  options.connections = 2;
  options.workers = 4;
  std::atomic<bool> go = false;
  std::atomic<int> entered = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    entered++;
    while (!go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return echo(request);
  });
  std::vector<std::unique_ptr<Raw>> busy;
  for (int i = 0; i < 4; i++) {  // the limit, one of slack, and one that waits in the kernel's queue
    busy.push_back(std::make_unique<Raw>(server->port()));
    busy.back()->send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    if (i < 3)
      while (entered.load() <= i) std::this_thread::yield();
  }
  go = true;
  for (int i = 0; i < 4; i++)
    EXPECT_NE(busy[static_cast<size_t>(i)]->read_all().find("GET /" + std::to_string(i)), std::string::npos);
}

// The health port of a service, as a probe sees it.
TEST(HttpServer, IdleConnectionsDoNotFailAProbe) {
  ServerOptions options;
  options.connections = 64;
  const auto server = serve(options);
  std::vector<std::unique_ptr<Raw>> idle;
  for (int i = 0; i < 200; i++) {
    idle.push_back(std::make_unique<Raw>(server->port()));
    if (i % 3 == 1) idle.back()->send("GET /half HTTP/1.1\r\nHost: x\r\nX: ");
    if (i % 3 == 2) idle.back()->send("GET /whole HTTP/1.1\r\nHost: x\r\n\r\n");
    if (i % 20 == 19) {
      EXPECT_NE(converse(server->port(), "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("/healthz"), std::string::npos) << i;
    }
  }
}

// A hand shake that is never finished is worth no more than any other idle connection, and ends in its time.
TEST(HttpServer, UnfinishedHandShakesMakeRoomAndEnd) {
  ServerOptions options = with_tls();
  options.connections = 16;
  options.head_ms = 300;
  const auto server = serve(options);
  std::vector<std::unique_ptr<Raw>> half;
  for (int i = 0; i < 40; i++) {
    half.push_back(std::make_unique<Raw>(server->port()));
    half.back()->send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9));
  }
  EXPECT_EQ(curl(server->port(), "", "/x"), "GET /x [] 0 \n");
  for (const auto& one : half) EXPECT_EQ(one->read_all(), "");
}

TEST(HttpServer, ThoseThatNeverReadDoNotFailAProbe) {
  ServerOptions options;
  options.connections = 8;
  const auto server = serve(options);
  std::string requests;
  for (int i = 0; i < 20; i++) requests += "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
  std::vector<std::unique_ptr<Raw>> deaf;
  for (int i = 0; i < 10; i++) {  // the limit and two of slack
    deaf.push_back(std::make_unique<Raw>(server->port()));
    deaf.back()->send(requests);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 0; i < 5; i++)
    EXPECT_NE(converse(server->port(), "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("/healthz"), std::string::npos);
}

// Half a record: in a head, in a body, and behind a refusal while its last words are read.
TEST(HttpServer, HalfARecordTakesNoTime) {
  ServerOptions options = with_tls();
  options.body_limit = 100'000;
  const auto server = serve(options);
  const std::string much(8'000, 'y');
  Records head(server->port()), body(server->port()), refused(server->port());
  head.raw().send(head.record("GET / HTTP/1.1\r\nHost: x\r\nx: " + much).substr(0, 100));
  body.raw().send(body.record("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n"));
  body.raw().send(body.record(much).substr(0, 100));
  refused.raw().send(refused.record("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n"));
  refused.raw().send(refused.record(much).substr(0, 3));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.3);
}

int64_t resident_kib() {
  const std::string text = shell("awk '/^VmRSS/ {print $2}' /proc/" + std::to_string(::getpid()) + "/status");
  return std::atoll(text.c_str());
}

TEST(HttpServer, PipeliningWithoutReadingMakesOneAnswerAtATime) {
  std::atomic<int> asked = 0;
  const auto server = serve({}, [&](const ServedRequest&) {
    asked++;
    ServedResponse response;
    response.body.assign(4u << 20, 'x');
    return response;
  });
  Raw greedy(server->port());
  std::string requests;
  for (int i = 0; i < 500; i++) requests += "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  greedy.send(requests);
  while (asked.load() == 0) std::this_thread::yield();
  // Others are served, and in all that time the greedy one gets no second answer made.
  for (int i = 0; i < 5; i++) EXPECT_EQ(converse(server->port(), "HEAD /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  EXPECT_LE(asked.load(), 5 + 3) << "an answer is made when the one before has been read";
  size_t got = 0;
  while (got < (20u << 20)) {
    const std::string part = greedy.read_some();
    ASSERT_NE(part, "");
    got += part.size();
  }
}

TEST(HttpServer, LargeBodiesAreBoundedTogether) {
  ServerOptions options;
  options.body_limit = 3u << 20;
  options.workers = 8;
  options.handled_bytes = 4u << 20;
  std::atomic<int> large = 0, most_large = 0;
  std::atomic<bool> go = false;
  const auto server = serve(options, [&](const ServedRequest& request) {
    if (request.body.size() < 1000) return echo(request);
    const int now = ++large;
    int seen = most_large.load();
    while (now > seen && !most_large.compare_exchange_weak(seen, now)) {
    }
    while (!go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    large--;
    return echo(request);
  });
  const int64_t before_kib = resident_kib();
  const std::string body(3u << 20, 'x');
  const std::string head = "POST /l HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  std::vector<std::string> answers(30);
  std::vector<std::thread> senders;
  for (std::string& answer : answers)
    senders.emplace_back([&] { answer = converse(server->port(), head + body); });
  // Sixteen are taken, one of them is worked on; more are told to come back. Small ones pass by.
  while (large.load() == 0) std::this_thread::yield();
  for (int i = 0; i < 20; i++) EXPECT_NE(converse(server->port(), "POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab").find("POST /s [] 2"), std::string::npos);
  go = true;
  for (std::thread& sender : senders) sender.join();
  int good = 0, later = 0;
  for (const std::string& answer : answers) {
    good += answer.starts_with("HTTP/1.1 200") ? 1 : 0;
    later += answer.starts_with("HTTP/1.1 503") ? 1 : 0;
  }
  EXPECT_GE(good, 1);
  EXPECT_EQ(good + later, 30);
  EXPECT_GE(later, 1);
  EXPECT_EQ(most_large.load(), 1) << "4 MiB are worked on at a time";
#ifndef TACHO_SANITIZED
  EXPECT_LT(resident_kib() - before_kib, 240 << 10) << "the senders hold 90 MiB themselves, and their sockets";
#else
  (void)before_kib;
#endif
}

// Uploads that stand still hold all the room for large bodies; whoever comes in well does not wait until their time is up.
TEST(HttpServer, SlowUploadsMakeRoomForANewcomer) {
  ServerOptions options;
  options.threads = 2;
  options.body_limit = 1u << 20;
  options.body_ms = 600'000;
  const auto server = serve(options);
  const std::string head = "POST /l HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ";
  std::vector<std::unique_ptr<Raw>> slow;
  for (int i = 0; i < 16; i++) {
    slow.push_back(std::make_unique<Raw>(server->port()));
    slow.back()->send(head + "1048576\r\n\r\n" + std::string((1u << 20) - 1, 'x'));
  }
  const std::string review = head + "200000\r\n\r\n" + std::string(200'000, 'r');
  // Told to come back only for the moment in which those may still be on their way; not for ten minutes.
  std::string answer;
  for (int tries = 0; tries < 200 && !answer.starts_with("HTTP/1.1 200"); tries++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    answer = converse(server->port(), review);
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  for (int i = 0; i < 8; i++) EXPECT_TRUE(converse(server->port(), review).starts_with("HTTP/1.1 200"));
  int good = 0, gone = 0;
  for (const auto& raw : slow) {
    raw->send("x");
    const std::string end = raw->read_all();
    good += end.starts_with("HTTP/1.1 200");
    gone += end.starts_with("HTTP/1.1 503");
  }
  EXPECT_GE(gone, 1);
  EXPECT_LE(gone, 2) << "no more than had to";
  EXPECT_EQ(good + gone, 16);
}

// What two programs could read in two ways.
TEST(HttpServer, RefusesWhatCouldBeSmuggled) {
  const auto server = serve({});
  const auto status = [&](const std::string& text) { return converse(server->port(), text).substr(0, 12); };
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string hidden = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::string fields : {
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n",
           "Content-Length: +5\r\n", "Content-Length: -1\r\n", "Content-Length: 0x5\r\n", "Content-Length: 5 5\r\n", "Content-Length:\r\n",
           "Content-Length: 99999999999999999999\r\n", "Content-Length : 5\r\n", " Content-Length: 5\r\n", "X: a\r\n b\r\n", "X:\r\n\tb\r\n", "X: a\r\n \r\n", "X:\r\n \r\n", "X: a \r\n\t b\r\n c\r\n",
           "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
           "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding:\x0b chunked\r\n",
           "Host: y\r\n", "X: a\nY: b\r\n", "X: a\rY: b\r\n", "X\r\n", ": a\r\n", "X Y: a\r\n", "Expect: wonders\r\n"}) {
    const std::string answer = converse(server->port(), post + fields + "\r\n" + hidden);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 501")) << fields << answer;
    EXPECT_EQ(answer.find("hidden"), std::string::npos) << fields;
    EXPECT_EQ(answer.find("HTTP/1.1", 9), std::string::npos) << "one answer alone: " << fields;
  }
  EXPECT_EQ(status(std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 28)), "HTTP/1.1 400");
  EXPECT_EQ(status("GET / HTTP/1.1\nHost: x\n\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400") << "without Host";
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"), "HTTP/1.1 400") << "with two";
  EXPECT_EQ(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: x\r\n\r\n"), "HTTP/1.1 400") << "in a trailer";
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "HTTP/1.1 200") << "an empty one is one";
  EXPECT_EQ(status("GET / HTTP/1.0\r\n\r\n"), "HTTP/1.1 200") << "an older client sends none";
  EXPECT_EQ(status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("GET / HTTP/3.0\r\n\r\n"), "HTTP/1.1 400");
}

TEST(HttpServer, ManyFieldsAndTalkativeChunksEnd) {
  const auto server = serve({});
  std::string fields, extensions;
  for (int i = 0; i < 300; i++) fields += "X" + std::to_string(i) + ": a\r\n";
  EXPECT_EQ(converse(server->port(), "GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n").substr(0, 12), "HTTP/1.1 431");
  const std::string chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(converse(server->port(), chunked + "0\r\n" + fields + "\r\n").substr(0, 12), "HTTP/1.1 431");
  EXPECT_NE(converse(server->port(), chunked + "1;a=b;c\r\nx\r\n0\r\nContent-Type: late\r\nX-Test: late\r\n\r\n").find("POST / [] 1 \n"), std::string::npos)
      << "an extension is passed over, a trailer is no header";
  for (int i = 0; i < 3000; i++) extensions += "1;abcdef=g\r\nx\r\n";
  EXPECT_EQ(converse(server->port(), chunked + extensions + "0\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(server->port(), chunked + "1;" + std::string(100'000, 'a')).substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(server->port(), "GET /" + std::string(70'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n").substr(0, 12), "HTTP/1.1 414");
  std::string ones;
  for (int i = 0; i < 1000; i++) ones += "1\r\nx\r\n";
  EXPECT_NE(converse(server->port(), chunked + ones + "0\r\n\r\n").find("POST / [] 1000 "), std::string::npos);
}

TEST(HttpServer, AHandlerThatThrowsIsAnswered) {
  for (const int workers : {0, 2}) {
    ServerOptions options;
    options.workers = workers;
    const auto server = serve(options, [](const ServedRequest& request) -> ServedResponse {
      if (request.path == "/throw") throw std::runtime_error("no");
      return echo(request);
    });
    EXPECT_EQ(converse(server->port(), "GET /throw HTTP/1.1\r\nHost: x\r\n\r\n").substr(0, 12), "HTTP/1.1 500");
    EXPECT_EQ(converse(server->port(), "GET /good HTTP/1.1\r\nHost: x\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  }
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

TEST(HttpServer, SpeaksHttp1UnderTlsWhateverElseIsOffered) {
  for (const int workers : {0, 2}) {
    ServerOptions options = with_tls();
    options.workers = workers;
    const auto server = serve(options);
    const std::string format = "-w '%{http_code} %{http_version}\\n' -H 'X-Test: t' -d hello ";
    for (const char* offer : {"--http1.1 ", "--http2 ", "--no-alpn "}) {
      EXPECT_EQ(curl(server->port(), offer + format, "/p?q=1"), "POST /p [q=1] 5 t\n200 1.1\n") << offer;
      EXPECT_EQ(curl(server->port(), std::string(offer) + "-o /dev/null -w '%{size_download}'", "/large"), "5242880");
    }
    const std::string to = " -connect 127.0.0.1:" + std::to_string(server->port()) + " < /dev/null";
    EXPECT_NE(shell("openssl s_client -alpn http/1.1,h2" + to).find("ALPN protocol: http/1.1"), std::string::npos);
    EXPECT_NE(shell("openssl s_client -alpn h2" + to).find("no application protocol"), std::string::npos) << "a clean refusal";
    EXPECT_NE(shell("openssl s_client -alpn h2,spdy/3" + to).find("no application protocol"), std::string::npos);
  }
}

TEST(HttpServer, DoesNotRenegotiate) {
  const auto server = serve(with_tls());
  const std::string answer = shell("( sleep 0.3; echo R; sleep 0.3; printf 'GET /again HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'; sleep 0.3 ) | timeout 20 openssl s_client -tls1_2 -connect 127.0.0.1:" +
                                   std::to_string(server->port()));
  EXPECT_NE(answer.find("RENEGOTIATING"), std::string::npos) << answer;
  EXPECT_NE(answer.find("no renegotiation"), std::string::npos) << answer;
  EXPECT_EQ(curl(server->port(), "", "/x"), "GET /x [] 0 \n");
}

TEST(HttpServer, RefusesLargeBodiesUnderTls) {
  const auto server = serve(with_tls());
  const std::string file = certificates().file("large");
  std::ofstream(file) << std::string((3u << 20) + 1, 'x');
  for (const char* version : {"--http1.1", "--no-alpn"}) {
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
  EXPECT_EQ(curl(server->port(), "--data-binary @" + file), "POST / [] 3145728 \n");
}

TEST(HttpServer, RefusesOldTls) {
  const auto server = serve(with_tls());
  const std::string to = " -connect 127.0.0.1:" + std::to_string(server->port()) + " < /dev/null";
  EXPECT_NE(shell("openssl s_client -tls1_2" + to).find("Cipher is ECDHE"), std::string::npos);
  EXPECT_NE(shell("openssl s_client -tls1_3" + to).find("TLSv1.3"), std::string::npos);
  EXPECT_NE(shell("openssl s_client -tls1_1 -cipher DEFAULT@SECLEVEL=0" + to).find("alert protocol version"),
            std::string::npos);
  EXPECT_NE(converse(server->port(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n").find("HTTP/1.1 200"), 0u)
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
      curl(server->port(), "-Z --no-progress-meter -o /dev/null -w '%{http_code} '", "/slow?[1-4]");
  EXPECT_EQ(out, "200 200 200 200 ");
  EXPECT_GT(most.load(), 1) << "several requests run at a time";
}

TEST(HttpServer, FinishesWhatRunsWhenItStops) {
  ServerOptions options = with_tls();
  options.workers = 2;
  std::atomic<int> entered = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    entered++;
    return echo(request);
  });
  std::string answer;
  std::thread client([&] { answer = curl(server->port(), "-i", "/slow"); });
  while (entered.load() == 0) std::this_thread::yield();
  server->stop(10'000);
  client.join();
  EXPECT_NE(answer.find("GET /slow [] 0 \n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("connection: close"), std::string::npos) << answer;
  EXPECT_NE(curl(server->port(), "").find("curl: (7)"), std::string::npos) << "nobody listens any more";
}

// Whoever has connected, or has sent its request, before the stop is answered: in the kernel's queue, on an idle connection, or
// in the middle of a body.
TEST(HttpServer, AnswersWhatHadArrivedWhenItStops) {
  ServerOptions options;
  options.threads = 2;
  std::atomic<bool> go = false;
  std::atomic<int> entered = 0;
  const auto server = serve(options, [&](const ServedRequest& request) {
    entered++;
    while (request.path == "/wait" && !go.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return echo(request);
  });
  Raw kept(server->port());
  kept.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(kept.read_some().find("/first"), std::string::npos);
  Raw half(server->port());
  half.send("POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  // Both loops are held up by their handlers, so that what follows stays where it is.
  Raw holder(server->port()), holder2(server->port());
  holder.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  holder2.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  while (entered.load() < 3) std::this_thread::yield();
  kept.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
  Raw queued(server->port());
  queued.send("GET /queued HTTP/1.1\r\nHost: x\r\n\r\n");
  std::thread stopper([&] { server->stop(20'000); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go = true;
  half.send("cd");
  EXPECT_NE(kept.read_all().find("/second"), std::string::npos);
  EXPECT_NE(queued.read_all().find("/queued"), std::string::npos);
  const std::string late = half.read_all();
  EXPECT_NE(late.find("POST /half [] 4"), std::string::npos);
  EXPECT_NE(late.find("connection: close"), std::string::npos);
  EXPECT_NE(holder.read_all().find("/wait"), std::string::npos);
  stopper.join();
}

TEST(HttpServer, AnswersARequestOfWhichHalfARecordIsThereWhenItStops) {
  ServerOptions options = with_tls();
  options.workers = 2;
  const auto server = serve(options);
  Records half(server->port()), idle(server->port());
  const std::string record = half.record("GET /half HTTP/1.1\r\nHost: x\r\n\r\n");
  half.raw().send(record.substr(0, 10));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread stopper([&] { server->stop(20'000); });
  EXPECT_EQ(idle.read_all(), "") << "idle ones end at once";
  half.raw().send(record.substr(10));
  const std::string answer = half.read_all();
  EXPECT_NE(answer.find("GET /half"), std::string::npos) << answer;
  EXPECT_NE(answer.find("connection: close"), std::string::npos) << answer;
  stopper.join();
}

TEST(HttpServer, AnnouncesItsEnd) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(raw.read_some().find("connection: close"), std::string::npos);
  server->announce_stop();
  raw.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string last = raw.read_all();
  EXPECT_NE(last.find("/2"), std::string::npos);
  EXPECT_NE(last.find("connection: close"), std::string::npos);
  EXPECT_NE(converse(server->port(), "GET /3 HTTP/1.1\r\nHost: x\r\n\r\n").find("/3"), std::string::npos) << "new ones are still taken";
}

// A client that never reads its answer, and one that does not end its requests, are let go when the time is up.
TEST(HttpServer, StopsInItsTimeWhateverClientsDo) {
  ServerOptions options;
  const auto server = serve(options);
  Raw deaf(server->port()), slow(server->port());
  deaf.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\nGET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  server->stop(200);
  EXPECT_EQ(slow.read_all(), "");
}

TEST(HttpServer, StopsAtOnceWithIdleClients) {
  const auto server = serve({});
  Raw raw(server->port());
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(raw.read_some(), "");
  std::thread stopper([&] { server->stop(60'000); });
  stopper.join();
  EXPECT_EQ(raw.read_all(), "");
}

}  // namespace
}  // namespace tacho
