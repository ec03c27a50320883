#include "http/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "base/units.h"
#include "http/client_socket.h"
#include "os/clock.h"
#include "os/fd.h"

namespace tacho {
namespace {

// Answers connection by connection, request by request, with fixed bytes.
class Server {
 public:
  using Connections = std::vector<std::vector<std::string>>;
  explicit Server(Connections connections)
      : connections_(std::move(connections)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_.get(), 8);
    socklen_t size = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  uint16_t port = 0;
  std::vector<std::string> requests;

 private:
  void run() {
    for (const auto& answers : connections_) {
      const Fd peer(::accept(listener_.get(), nullptr, nullptr));
      if (!peer) return;
      for (const std::string& answer : answers) {
        std::string request;
        char buffer[4096];
        while (request.find("\r\n\r\n") == std::string::npos) {
          const ssize_t size = ::recv(peer.get(), buffer, sizeof buffer, 0);
          if (size <= 0) return;
          request.append(buffer, static_cast<size_t>(size));
        }
        requests.push_back(request);
        ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }
  Connections connections_;
  Fd listener_;
  std::thread thread_;
};

HttpTarget target(const Server& server) {
  HttpTarget out;
  out.port = server.port;
  out.path = "/metrics";
  return out;
}
int64_t soon(int64_t ms = 10'000) { return system_clock().monotonic_ns() + ms * kNsPerMs; }

TEST(GetClient, KeepsItsConnectionAndReadsChunks) {
  Server server(
      Server::Connections{{"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: "
                           "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nfg"}});
  HttpTarget to = target(server);
  to.headers = {{"Host", "other.example"}, {"X-A", "b"}};
  GetClient client(to);
  std::string body;
  const auto head = [](const HttpAnswer&) { return true; };
  const auto take = [&](std::string_view part) { body += part; };
  const auto first = client.get(soon(), head, take);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->content_type, "text/plain");
  ASSERT_TRUE(client.get(soon(), head, take));
  EXPECT_EQ(body, "abcdefg");
  ASSERT_EQ(server.requests.size(), 2u);
  EXPECT_TRUE(server.requests[0].starts_with("GET /metrics HTTP/1.1\r\n"));
  EXPECT_NE(server.requests[0].find("Host: other.example\r\n"), std::string::npos);
  EXPECT_EQ(server.requests[0].find("127.0.0.1"), std::string::npos);
}

TEST(GetClient, OpensAnotherConnectionWhenThePeerClosed) {
  Server server(Server::Connections{{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"},
                                    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end"}});
  GetClient client(target(server));
  std::string body;
  const auto take = [&](std::string_view part) { body += part; };
  ASSERT_TRUE(client.get(soon(), nullptr, take));
  ASSERT_TRUE(client.get(soon(), nullptr, take));
  EXPECT_EQ(body, "auntil the end");
}

TEST(GetClient, RedirectsStayOnTheHost) {
  Server server(
      Server::Connections{{"HTTP/1.1 302 Found\r\nLocation: /b?c=d\r\nContent-Length: 5\r\n\r\nignor",
                           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
                           "HTTP/1.1 301 Moved\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n"}});
  GetClient client(target(server));
  std::string body;
  const auto take = [&](std::string_view part) { body += part; };
  ASSERT_TRUE(client.get(soon(), nullptr, take));
  EXPECT_EQ(body, "x");
  EXPECT_TRUE(server.requests[1].starts_with("GET /b?c=d "));
  const auto away = client.get(soon(), nullptr, take);
  ASSERT_FALSE(away);
  EXPECT_NE(away.error().message().find("another host"), std::string::npos);
}

TEST(GetClient, Faults) {
  Server server(Server::Connections{{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"},
                                    {"nonsense\r\n\r\n"},
                                    {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789"},
                                    {"HTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\nno!"}});
  HttpTarget to = target(server);
  to.body_limit = 8;
  GetClient client(to);
  std::string body;
  const auto take = [&](std::string_view part) { body += part; };
  EXPECT_FALSE(client.get(soon(), nullptr, take));
  EXPECT_FALSE(client.get(soon(), nullptr, take));
  EXPECT_FALSE(client.get(soon(), nullptr, take));
  body.clear();
  const auto busy = client.get(soon(), nullptr, take);
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->status, 503);
  EXPECT_EQ(body, "");
}

TEST(GetClient, NobodyListensAndNobodyAnswers) {
  HttpTarget to;
  {
    Server gone(Server::Connections{});
    to.port = gone.port;
  }
  GetClient client(to);
  const auto refused = client.get(soon(), nullptr, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::gone);

  Server silent(Server::Connections{{""}});
  GetClient waiting(target(silent));
  const auto late = waiting.get(soon(100), nullptr, nullptr);
  ASSERT_FALSE(late);
}

TEST(Redirect, Paths) {
  const ClientAddress here{false, "h", 8080, ""};
  EXPECT_EQ(redirect_path("/x#y", "/m", here), "/x");
  EXPECT_EQ(redirect_path("http://H:8080/a?b", "/m", here), "/a?b");
  EXPECT_EQ(redirect_path("http://h:8080", "/m", here), "/");
  EXPECT_EQ(redirect_path("other", "/a/m?x=/y", here), "/a/other");
  for (const char* bad : {"", "http://h/a", "https://h:8080/a", "http://other:8080/", "//other/x"})
    EXPECT_FALSE(redirect_path(bad, "/m", here)) << bad;
}

}  // namespace
}  // namespace tacho
