// Under TLS: versions, certificates, renewal.
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "http/server_test_support.h"

namespace tacho {
namespace {

using namespace served;

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
    EXPECT_NE(shell("openssl s_client -alpn h2" + to).find("no application protocol"), std::string::npos)
        << "a clean refusal";
    EXPECT_NE(shell("openssl s_client -alpn h2,spdy/3" + to).find("no application protocol"), std::string::npos);
  }
}

TEST(HttpServer, DoesNotRenegotiate) {
  const auto server = serve(with_tls());
  const std::string answer = shell(
      "( sleep 0.3; echo R; sleep 0.3; printf 'GET /again HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'; sleep 0.3 ) | timeout 20 "
      "openssl s_client -tls1_2 -connect 127.0.0.1:" +
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

ServerOptions with_files_of(const Certificates& own) {
  ServerOptions options = with_tls();
  options.files = {own.file("server.crt"), own.file("server.key"), ""};
  return options;
}

std::string serial_of(const HttpServer& server) {
  return shell("openssl s_client -connect 127.0.0.1:" + std::to_string(server.port()) +
               " < /dev/null 2>/dev/null | openssl x509 -noout -serial");
}

TEST(HttpServer, ReloadsItsFilesWithoutDroppingAConnection) {
  const Certificates own;
  const auto server = serve(with_files_of(own));
  const auto serial = [&] { return serial_of(*server); };
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

// The files could not be read in that moment, although nothing is wrong with them: they are read again.
TEST(HttpServer, ReloadsLaterWhatCouldNotBeLoadedAtOnce) {
  const Certificates own;
  const auto server = serve(with_files_of(own));
  const auto serial = [&] { return serial_of(*server); };
  const std::string before = serial();
  own.issue("server");
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  const rlimit none{3, usual.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const Status loaded = server->reload();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_FALSE(loaded);
  std::string now = before;
  for (int tries = 0; tries < 200 && now == before; tries++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    now = serial();
  }
  EXPECT_NE(now, before);
}

// Each costs more to read than to send, and none of them is a request.
TEST(HttpServer, KeyUpdatesWithoutEndDelayNobodyElse) {
  ServerOptions options = with_tls();
  options.head_ms = options.idle_ms = 300'000;  // they take a while to make
  const auto server = serve(options);
  Records endless(server->port()), other(server->port());
  std::string updates;
  while (updates.size() < (12u << 20)) updates += endless.key_updates(1'000);
  endless.raw().hold_little();
  const std::string request = other.record("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::atomic<bool> begun = false, sent = false;
  std::thread sender([&] {
    for (size_t at = 0; at < updates.size(); at += 100'000, begun = true)
      endless.raw().send(updates.substr(at, 100'000));
    sent = true;
  });
  while (!begun) std::this_thread::yield();
  other.raw().send(request);
  EXPECT_NE(other.read_some().find("GET /x"), std::string::npos);
  EXPECT_FALSE(sent.load()) << "it was served behind them all";
  endless.raw().end();
  sender.join();
}

}  // namespace
}  // namespace tacho
