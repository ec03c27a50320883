#include "net/http/http_tls.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "net/http/http.h"
#include "support/double.h"
#include "support/temp_dir.h"
#include "support/tls_files.h"

namespace tacho {
namespace {

TEST(HttpTls, VerifiesAlways) {
  const TempDir folder, other_folder;
  const TlsFiles right(folder.path(), "DNS:localhost"), stranger(other_folder.path(), "DNS:localhost");
  DoubleServer server("echo_double.py", {"--tls", right.certificate, right.key});
  HttpRequest request;
  request.url = "https://localhost:" + std::to_string(server.port()) + "/";
  HttpClient client;
  {
    const WithVariable trust("SSL_CERT_FILE", right.certificate);
    const Result<HttpResponse> answer = client.send(request);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->status, 200);
  }
  HttpClient fresh;
  {
    const WithVariable trust("SSL_CERT_FILE", stranger.certificate);
    const Result<HttpResponse> answer = fresh.send(request);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::denied);
    EXPECT_NE(answer.error().hint.find("SSL_CERT_FILE"), std::string::npos);
  }
  {  // the right CA, the wrong name
    const WithVariable trust("SSL_CERT_FILE", right.certificate);
    request.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/";
    EXPECT_FALSE(fresh.send(request));
  }
  {
    const WithVariable trust("SSL_CERT_FILE", folder.path() + "/absent.pem");
    const Result<HttpResponse> answer = fresh.send(request);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::invalid);
    EXPECT_NE(answer.error().message().find("SSL_CERT_FILE"), std::string::npos);
  }
  const WithVariable trust("SSL_CERT_DIR", folder.path() + "/absent");
  EXPECT_FALSE(find_trust_store());
}

TEST(HttpTls, VerifiesTheNameThatWasAskedFor) {
  const TempDir folder;
  const TlsFiles files(folder.path(), "DNS:kubernetes.test");
  DoubleServer server("echo_double.py", {"--tls", files.certificate, files.key});
  HttpRequest request;
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  request.url = "https://" + host + "/a/b?c=d";
  request.tls.ca_pem = slurp(files.certificate);
  HttpClient client;
  EXPECT_FALSE(client.send(request)) << "the address is no name of the certificate";
  request.tls.server_name = "kubernetes.test";
  const Result<HttpResponse> answer = client.send(request);
  ASSERT_TRUE(answer) << answer.error().message();
  const auto seen = nlohmann::json::parse(answer->body);
  EXPECT_EQ(seen["headers"]["host"], host) << answer->body;
  EXPECT_EQ(seen["path"], "/a/b?c=d") << answer->body;
  request.tls.server_name = "other.test";
  const Result<HttpResponse> wrong = client.send(request);
  ASSERT_FALSE(wrong) << "a kept connection is no proof of another name";
  EXPECT_EQ(wrong.error().code, Code::denied);
}

TEST(HttpTls, SurvivesAServerThatCutsTheConnection) {
  const TempDir folder;
  const TlsFiles files(folder.path(), "DNS:localhost");
  const WithVariable trust("SSL_CERT_FILE", files.certificate);
  spill(folder / "rules", R"([{"action":{"reset":"body"}}])");
  DoubleServer server("echo_double.py", {"--tls", files.certificate, files.key, "--faults", folder / "rules"});
  HttpRequest put;
  put.method = "PUT";
  put.url = "https://localhost:" + std::to_string(server.port()) + "/";
  put.body.assign(8u << 20, 'x');
  std::signal(SIGPIPE, SIG_DFL);
  HttpClient client;
  for (int i = 0; i < 3; ++i) {
    const Result<HttpResponse> answer = client.send(put);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::io);
  }
}

}  // namespace
}  // namespace tacho
