#include "net/http/http.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "net/http/http_debug.h"
#include "os/fd.h"
#include "support/double.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using nlohmann::json;

class Http : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new DoubleServer("echo_double.py"); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    server_->faults("[]");
    server_->post("/__log");
  }

  HttpRequest request(const std::string& path = "/", const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.url = server_->url(path);
    return request;
  }
  json seen(const HttpRequest& request) {
    const Result<HttpResponse> answer = client_.send(request);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message());
    return answer ? json::parse(answer->body) : json();
  }

  static DoubleServer* server_;
  HttpClient client_;
};
DoubleServer* Http::server_ = nullptr;

TEST_F(Http, SendsEveryMethodWithItsBody) {
  json echo = seen(request("/a?b=c"));
  EXPECT_EQ(echo["method"], "GET");
  EXPECT_EQ(echo["path"], "/a?b=c");
  EXPECT_FALSE(echo["headers"].contains("content-length"));
  EXPECT_EQ(echo["headers"]["user-agent"], "tacho/" TACHO_VERSION);

  HttpRequest post = request("/", "POST");
  echo = seen(post);
  EXPECT_EQ(echo["headers"]["content-length"], "0");
  EXPECT_FALSE(echo["headers"].contains("content-type"));

  post.body = std::string("{\"a\":1}\0x", 9);
  post.headers = {
      {"Content-Type", "application/json"}, {"Accept", "application/json"}, {"User-Agent", "other/1"}, {"X-Empty", ""}};
  echo = seen(post);
  EXPECT_EQ(echo["body"].get<std::string>(), post.body);
  EXPECT_EQ(echo["headers"]["content-type"], "application/json");
  EXPECT_EQ(echo["headers"]["accept"], "application/json");
  EXPECT_EQ(echo["headers"]["user-agent"], "other/1");
  EXPECT_EQ(echo["headers"]["x-empty"], "");

  HttpRequest put = request("/k%20x/../y", "PUT");
  put.body.assign(3'000'000, 'x');  // above the size where libcurl would wait for 100-continue
  echo = seen(put);
  EXPECT_EQ(echo["method"], "PUT");
  EXPECT_EQ(echo["path"], "/k%20x/../y");  // as it is
  EXPECT_EQ(echo["headers"]["content-length"], "3000000");
  EXPECT_FALSE(echo["headers"].contains("expect"));
  EXPECT_FALSE(echo["headers"].contains("transfer-encoding"));
  EXPECT_TRUE(client_.sent());

  const Result<HttpResponse> head = client_.send(request("/", "HEAD"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->header("content-type"), "application/json");
  EXPECT_EQ(seen(request("/", "DELETE"))["method"], "DELETE");
}

TEST_F(Http, KeepsItsConnection) {
  const json first = seen(request()), second = seen(request());
  EXPECT_EQ(first["client_port"], second["client_port"]);
}

TEST_F(Http, GivesAnswersOfEveryStatusWithLowerCaseHeaders) {
  server_->fault("{}", R"({"status":503,"code":"x","headers":{"Retry-After":"7","X-Mixed-CASE":"Value"}})");
  const Result<HttpResponse> answer = client_.send(request());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->header("retry-after"), "7");
  EXPECT_EQ(answer->header("x-mixed-case"), "Value");
  EXPECT_EQ(answer->header("x-absent"), "");
}

TEST_F(Http, CallsEveryKindOfBrokenConnectionTemporary) {
  for (const char* action : {R"({"reset":"start"})", R"({"reset":"body"})", R"({"reset":"answer"})",
                             R"({"half_close":true})", R"({"half_close":true,"status":204})"}) {
    server_->fault("{}", action);
    HttpRequest put = request("/", "PUT");
    put.body.assign(200'000, 'x');
    const Result<HttpResponse> answer = client_.send(put);
    ASSERT_FALSE(answer) << action;
    EXPECT_EQ(answer.error().code, Code::io) << answer.error().message();
  }
  EXPECT_TRUE(client_.sent());  // the last one arrived; only its answer did not
  HttpRequest nobody = request();
  nobody.url = "http://127.0.0.1:1/";
  const Result<HttpResponse> answer = client_.send(nobody);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::io);
  EXPECT_FALSE(client_.sent());
}

// A proxy's half a line, or another protocol on the port: it may be right again in a moment.
TEST_F(Http, CallsWhatIsNotHttpTemporary) {
  const Result<HttpResponse> answer = client_.send(request("/nonsense"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::io) << answer.error().message();
}

TEST_F(Http, UnpacksWhatIsCompressedUnasked) {
  EXPECT_EQ(seen(request("/gzip"))["path"], "/gzip");
  EXPECT_FALSE(seen(request("/gzip"))["headers"].contains("accept-encoding"));
}

class Letters final : public BodySource {
 public:
  explicit Letters(int64_t bytes) : promised_(bytes), left_(bytes) {}
  int64_t bytes() const override { return promised_; }
  size_t read(char* to, size_t room) override {
    const size_t now = std::min({room, static_cast<size_t>(left_), size_t{1000}});
    for (size_t i = 0; i < now; ++i) to[i] = static_cast<char>('a' + (promised_ - left_--) % 26);
    return now;
  }
  void rewind() override { left_ = promised_, ++rewinds; }
  int rewinds = 0;

 private:
  int64_t promised_, left_;
};

TEST_F(Http, SendsABodyThatIsReadOnTheWay) {
  Letters letters(3'000'000);
  HttpRequest post = request("/", "POST");
  post.source = &letters;
  std::string expected(3'000'000, ' ');
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<char>('a' + i % 26);
  json echo = seen(post);
  EXPECT_EQ(echo["method"], "POST");
  EXPECT_EQ(echo["headers"]["content-length"], "3000000");
  EXPECT_FALSE(echo["headers"].contains("expect"));
  EXPECT_FALSE(echo["headers"].contains("transfer-encoding"));
  EXPECT_EQ(echo["body"].get<std::string>(), expected);
  // From the start again: after a redirect, and on a kept connection that is dead.
  server_->fault(R"({"path":"/there"})", R"({"status":307,"headers":{"Location":"/here"},"body":""})");
  post.url = server_->url("/there");
  post.redirects = 1;
  EXPECT_EQ(seen(post)["body"].get<std::string>(), expected);
  server_->fault(R"({"nth":1})", R"({"reset":"body"})");
  const Result<HttpResponse> cut = client_.send(post);
  EXPECT_TRUE(!cut || json::parse(cut->body)["body"].get<std::string>() == expected);
}

TEST_F(Http, HasADeadlineForEachPhase) {
  server_->fault("{}", R"({"delay_s":30})");
  HttpRequest slow = request();
  slow.response_ms = 200;
  Result<HttpResponse> answer = client_.send(slow);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().what.find("does not answer"), std::string::npos);
  EXPECT_TRUE(client_.sent());

  slow.response_ms = 60'000;
  slow.total_ms = 200;
  answer = client_.send(slow);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().what.find("too long"), std::string::npos);

  server_->fault("{}", R"({"slow_s":0.05})");  // a byte now and then is no answer
  slow.response_ms = 300;
  slow.total_ms = 60'000;
  answer = client_.send(slow);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::io);
}

TEST_F(Http, NoticesAServerThatDoesNotTakeTheBody) {
  // A listening socket that nobody accepts from: the kernel takes the connection and what fits into its buffers.
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  HttpRequest put;
  put.method = "PUT";
  put.url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  put.body.assign(32u << 20, 'x');
  put.stalled_ms = 300;
  const Result<HttpResponse> answer = client_.send(put);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().what.find("does not take"), std::string::npos) << answer.error().message();
  EXPECT_FALSE(client_.sent());
}

TEST_F(Http, CanBeCutShort) {
  server_->fault("{}", R"({"delay_s":30})");
  int asked = 0;
  client_.on_cancel([&] { return ++asked > 3; });
  Result<HttpResponse> answer = client_.send(request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::gone);
  client_.on_cancel({});

  const Fd stop(::eventfd(1, EFD_CLOEXEC));
  client_.set_stop_fd(stop.get());
  answer = client_.send(request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::gone);
  client_.set_stop_fd(-1);
  server_->faults("[]");
  EXPECT_EQ(seen(request())["method"], "GET");  // and is as good as before
}

TEST_F(Http, FollowsRedirectsOnItsOwnHostOnly) {
  HttpRequest post = request("/old", "POST");
  post.body = "data";
  post.headers = {{"Authorization", "Bearer secret"}};
  server_->fault(R"({"path":"/old"})", R"({"status":307,"headers":{"Location":"/new"},"body":""})");
  Result<HttpResponse> answer = client_.send(post);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 307);  // not asked to follow
  post.redirects = 5;
  json echo = seen(post);
  EXPECT_EQ(echo["path"], "/new");
  EXPECT_EQ(echo["method"], "POST");
  EXPECT_EQ(echo["body"], "data");

  server_->fault(R"({"path":"/old"})", R"({"status":303,"headers":{"Location":"/new"},"body":""})");
  echo = seen(post);
  EXPECT_EQ(echo["method"], "GET");
  EXPECT_EQ(echo["body"], "");
  server_->fault(R"({"path":"/old"})", R"({"status":303,"headers":{"Location":"/new"},"body":""})");
  post.follows_see_other = false;
  answer = client_.send(post);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  post.follows_see_other = true;

  DoubleServer other("echo_double.py");
  for (const std::string& target :
       {other.url("/steal"), std::string("http://localhost:") + std::to_string(server_->port()) + "/steal",
        std::string("//127.0.0.2/steal"), std::string("http://user@127.0.0.1:") + std::to_string(server_->port()) + "/",
        std::string("ftp://127.0.0.1/")}) {
    server_->fault(R"({"path":"/old"})", R"({"status":302,"headers":{"Location":")" + target + R"("},"body":""})");
    answer = client_.send(post);
    ASSERT_FALSE(answer) << target;
    EXPECT_EQ(answer.error().code, Code::invalid);
    EXPECT_FALSE(answer.error().hint.empty());
  }
  EXPECT_EQ(other.log(), "[]");

  server_->fault("{}", R"({"status":301,"headers":{"Location":"/old"},"body":""})");
  server_->post("/__log");
  answer = client_.send(post);
  ASSERT_FALSE(answer);
  EXPECT_EQ(json::parse(server_->log()).size(), 6u);
}

TEST_F(Http, BoundsTheBody) {
  HttpRequest small = request("/", "POST");
  small.body.assign(5'000, 'x');
  small.body_limit = 1'000;
  const Result<HttpResponse> answer = client_.send(small);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::invalid);
}

TEST_F(Http, RefusesHeadersWithALineBreak) {
  HttpRequest bad = request();
  bad.headers = {{"Authorization", "Bearer a\nX-Evil: 1"}};
  const Result<HttpResponse> answer = client_.send(bad);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::invalid);
  EXPECT_EQ(answer.error().message().find("Evil"), std::string::npos);
  EXPECT_EQ(server_->log(), "[]");
}

TEST_F(Http, UsesTheProxyButNotOneElsewhereForLoopback) {
  const WithVariable lower_proxy("http_proxy", nullptr), lower_none("no_proxy", nullptr), none("NO_PROXY", nullptr);
  {
    const WithVariable elsewhere("HTTP_PROXY", "http://192.0.2.1:3128");
    EXPECT_EQ(seen(request())["via_proxy"], false);
  }
  const WithVariable proxy("HTTP_PROXY", server_->url());
  EXPECT_EQ(seen(request())["via_proxy"], true);
  {
    const WithVariable direct("NO_PROXY", "127.0.0.1");
    EXPECT_EQ(seen(request())["via_proxy"], false);
  }
  HttpRequest far = request();
  far.url = "http://service.test/x";  // the proxy's to resolve
  const json echo = seen(far);
  EXPECT_EQ(echo["via_proxy"], true);
  EXPECT_EQ(echo["headers"]["host"], "service.test");

  // An address of this machine that does not look like it.
  far.url = "http://0.0.0.0:" + std::to_string(server_->port()) + "/x";
  EXPECT_EQ(seen(far)["via_proxy"], true);
  {
    const WithVariable direct("NO_PROXY", "other.test,0.0.0.0");
    EXPECT_EQ(seen(far)["via_proxy"], false);
  }
  far.use_proxy = false;
  EXPECT_EQ(seen(far)["via_proxy"], false);
}

TEST(HttpDebug, MasksWhatIsSecret) {
  EXPECT_EQ(masked_header("Authorization: Bearer abc"), "Authorization: Bearer ***");
  EXPECT_EQ(masked_header("authorization: abc"), "authorization: ***");
  EXPECT_EQ(masked_header("Authorization: AWS4-HMAC-SHA256 Credential=AK/x, Signature=1"),
            "Authorization: AWS4-HMAC-SHA256 ***");
  EXPECT_EQ(masked_header("X-Amz-Security-Token: abc def"), "X-Amz-Security-Token: ***");
  EXPECT_EQ(masked_header("X-aws-ec2-metadata-token: abc"), "X-aws-ec2-metadata-token: ***");
  EXPECT_EQ(masked_header("Set-Cookie: a=b"), "Set-Cookie: ***");
  EXPECT_EQ(masked_header("GET /a?token=abc HTTP/1.1"), "GET /a?*** HTTP/1.1");
  EXPECT_EQ(masked_header("Location: https://h/a?X-Amz-Signature=1"), "Location: https://h/a?***");
  EXPECT_EQ(masked_header("Content-Type: text/csv"), "Content-Type: text/csv");
  EXPECT_EQ(masked_header("HTTP/1.1 200 OK"), "HTTP/1.1 200 OK");
  EXPECT_EQ(masked_header("Server: a\x1b[2Jb"), "Server: a [2Jb");
}

}  // namespace
}  // namespace tacho
