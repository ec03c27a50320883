// What the server answers, and what it refuses.
#include <stdexcept>

#include "http/server_test_support.h"

namespace tacho {
namespace {

using namespace served;

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
    const std::string answer = converse(server->port(),
                                        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPOST /2 "
                                        "HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                                        "2\r\nxy\r\n2\r\nzz\r\n0\r\n\r\nHEAD /3 HTTP/1.1\r\nHost: x\r\n\r\nGET /4 "
                                        "HTTP/1.0\r\n\r\nGET /never HTTP/1.1\r\nHost: x\r\n\r\n");
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
  EXPECT_EQ(converse(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n")
                .substr(0, 12),
            "HTTP/1.1 400");
  EXPECT_EQ(
      converse(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x')).substr(0, 12),
      "HTTP/1.1 413");
  EXPECT_EQ(
      converse(port, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x'))
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

// What two programs could read in two ways.
TEST(HttpServer, RefusesWhatCouldBeSmuggled) {
  const auto server = serve({});
  const auto status = [&](const std::string& text) { return converse(server->port(), text).substr(0, 12); };
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string hidden = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::string fields : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                   "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                   "Content-Length: 5\r\nContent-Length: 5\r\n",
                                   "Content-Length: 5\r\nContent-Length: 6\r\n",
                                   "Content-Length: 5, 5\r\n",
                                   "Content-Length: +5\r\n",
                                   "Content-Length: -1\r\n",
                                   "Content-Length: 0x5\r\n",
                                   "Content-Length: 5 5\r\n",
                                   "Content-Length:\r\n",
                                   "Content-Length: 99999999999999999999\r\n",
                                   "Content-Length : 5\r\n",
                                   " Content-Length: 5\r\n",
                                   "X: a\r\n b\r\n",
                                   "X:\r\n\tb\r\n",
                                   "X: a\r\n \r\n",
                                   "X:\r\n \r\n",
                                   "X: a \r\n\t b\r\n c\r\n",
                                   "Transfer-Encoding: xchunked\r\n",
                                   "Transfer-Encoding: chunked, identity\r\n",
                                   "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
                                   "Transfer-Encoding: gzip, chunked\r\n",
                                   "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                   "Transfer-Encoding:\x0b chunked\r\n",
                                   "Host: y\r\n",
                                   "X: a\nY: b\r\n",
                                   "X: a\rY: b\r\n",
                                   "X\r\n",
                                   ": a\r\n",
                                   "X Y: a\r\n",
                                   "Expect: wonders\r\n"}) {
    const std::string answer = converse(server->port(), post + fields + "\r\n" + hidden);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 501")) << fields << answer;
    EXPECT_EQ(answer.find("hidden"), std::string::npos) << fields;
    EXPECT_EQ(answer.find("HTTP/1.1", 9), std::string::npos) << "one answer alone: " << fields;
  }
  EXPECT_EQ(status(std::string("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26)), "HTTP/1.1 400");
  EXPECT_EQ(status("GET / HTTP/1.1\nHost: x\n\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n"),
            "HTTP/1.1 400");
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n"),
            "HTTP/1.1 400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400") << "without Host";
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"), "HTTP/1.1 400") << "with two";
  EXPECT_EQ(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: x\r\n\r\n"), "HTTP/1.1 400")
      << "in a trailer";
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
  EXPECT_NE(converse(server->port(), chunked + "1;a=b;c\r\nx\r\n0\r\nContent-Type: late\r\nX-Test: late\r\n\r\n")
                .find("POST / [] 1 \n"),
            std::string::npos)
      << "an extension is passed over, a trailer is no header";
  for (int i = 0; i < 3000; i++) extensions += "1;abcdef=g\r\nx\r\n";
  EXPECT_EQ(converse(server->port(), chunked + extensions + "0\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(server->port(), chunked + "1;" + std::string(100'000, 'a')).substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(converse(server->port(), "GET /" + std::string(70'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n").substr(0, 12),
            "HTTP/1.1 414");
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

}  // namespace
}  // namespace tacho
