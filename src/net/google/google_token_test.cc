#include "net/google/google_token.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "net/google/bigquery.h"
#include "support/double.h"
#include "support/replay_clock.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

std::string from_base64url(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (text.size() % 4 != 0) text += '=';
  std::string bytes(text.size(), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  bytes.resize(static_cast<size_t>(size) - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0));
  return bytes;
}

struct TestKey {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  ~TestKey() { EVP_PKEY_free(key); }
  std::string pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<size_t>(size));
    BIO_free(bio);
    return text;
  }
  bool signed_by_us(const std::string& text, const std::string& signature) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    const bool good =
        EVP_DigestVerifyInit(context, nullptr, EVP_sha256(), nullptr, key) == 1 &&
        EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
    EVP_MD_CTX_free(context);
    return good;
  }
};

TEST(GoogleCredentials, JwtOfAServiceAccount) {
  const TestKey key;
  const auto credentials = parse_google_credentials(Json{{"type", "service_account"},
                                                         {"client_email", "a@b"},
                                                         {"private_key", key.pem()},
                                                         {"private_key_id", "k1"},
                                                         {"project_id", "p"},
                                                         {"token_uri", "https://t/"}}
                                                        .dump(),
                                                    "f");
  ASSERT_TRUE(credentials) << credentials.error().message();
  EXPECT_EQ(credentials->project, "p");
  const auto jwt = service_account_jwt(*credentials, "s1 s2", "https://t/", 1'000'000);
  ASSERT_TRUE(jwt);
  const auto parts = split(*jwt, '.');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(jwt->find('='), std::string::npos);
  EXPECT_EQ(Json::parse(from_base64url(std::string(parts[0]))),
            (Json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "k1"}}));
  EXPECT_EQ(Json::parse(from_base64url(std::string(parts[1]))),
            (Json{{"iss", "a@b"}, {"scope", "s1 s2"}, {"aud", "https://t/"}, {"iat", 999'990}, {"exp", 1'003'590}}));
  EXPECT_TRUE(key.signed_by_us(jwt->substr(0, jwt->rfind('.')), from_base64url(std::string(parts[2]))));

  const auto self_signed = service_account_jwt(*credentials, "s1", "", 1'000'000);
  ASSERT_TRUE(self_signed);
  const Json claims = Json::parse(from_base64url(std::string(split(*self_signed, '.')[1])));
  EXPECT_EQ(claims["sub"], claims["iss"]);
  EXPECT_FALSE(claims.contains("aud"));
}

TEST(GoogleCredentials, WrongFilesSayWhatToDoAndNothingElse) {
  const auto failure = [](const std::string& text) {
    const auto parsed = parse_google_credentials(text, "key.json");
    return parsed ? Error{Code::gone, "taken", "", ""} : parsed.error();
  };
  EXPECT_EQ(failure("").code, Code::invalid);
  EXPECT_EQ(failure("[]").code, Code::invalid);
  EXPECT_EQ(failure(R"({"type":"service_account","client_email":"a"})").code, Code::invalid);
  EXPECT_EQ(failure(R"({"type":"authorized_user","client_id":"a","client_secret":"geheim"})").code, Code::invalid);
  EXPECT_EQ(failure(R"({"type":"external_account"})").code, Code::not_available);
  EXPECT_EQ(failure(R"({"type":"impersonated_service_account"})").code, Code::not_available);
  EXPECT_EQ(failure(R"({"type":"-----BEGIN PRIVATE KEY----- and so on, much longer"})").message().find("BEGIN"),
            std::string::npos);
  EXPECT_EQ(failure(R"({"type":"authorized_user","client_id":"a","client_secret":"geheim"})").message().find("geheim"),
            std::string::npos);
  GoogleCredentials bad;
  bad.client_email = "a";
  bad.private_key = "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n";
  const auto jwt = service_account_jwt(bad, "s", "a", 0);
  ASSERT_FALSE(jwt);
  EXPECT_EQ(jwt.error().message().find("QUJD"), std::string::npos);
}

TEST(GoogleCredentials, TokenAnswers) {
  EXPECT_EQ(parse_token_answer(R"({"access_token":"t","expires_in":3599})")->expires_in_s, 3599);
  EXPECT_EQ(parse_token_answer(R"({"access_token":"t"})")->expires_in_s, 300);
  EXPECT_EQ(parse_token_answer(R"({"access_token":"t","expires_in":-5})")->expires_in_s, 300);
  EXPECT_EQ(parse_token_answer(R"({"access_token":"t","expires_in":1e99})")->expires_in_s, 86'400);
  EXPECT_FALSE(parse_token_answer(R"({"access_token":"a\r\nX: y"})"));
  EXPECT_FALSE(parse_token_answer(R"({"access_token":""})"));
  EXPECT_FALSE(parse_token_answer("<html>"));
}

class Google : public testing::Test {
 protected:
  Google() {
    for (const char* name : {"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "TACHO_NO_CLOUD", "TACHO_CLOUD_PROBE",
                             "GCE_METADATA_IP"})
      set(name, nullptr);
    set("HOME", folder_.path().c_str());
    set("GCE_METADATA_HOST", ("127.0.0.1:" + std::to_string(server_.port())).c_str());
    server_.post("/__config", R"({"token_life_s":1000})");
    server_.post("/__metadata", R"({"token":true,"instance/id":"77","project/project-id":"p"})");
  }
  void set(const char* name, const char* value) { variables_.emplace_front(name, value); }
  size_t asked(const std::string& part) {
    size_t count = 0;
    for (const Json& entry : Json::parse(server_.log()))
      count += entry["path"].get<std::string>().find(part) != std::string::npos;
    return count;
  }

  DoubleServer server_{"bigquery_double.py"};
  TempDir folder_;
  std::deque<WithVariable> variables_;
  HttpClient http_;
  ReplayClock clock_{1'000'000};
  void pass_s(int64_t seconds) { clock_.wait({}, clock_.monotonic_ns() + seconds * kNsPerSec); }
};

TEST_F(Google, FetchesFourMinutesBeforeTheEndAndKeepsTheOldOneMeanwhile) {
  GoogleToken token(http_, {}, clock_);
  const auto first = token.get();
  ASSERT_TRUE(first) << first.error().message();
  pass_s(759);
  EXPECT_EQ(*token.get(), *first);
  EXPECT_EQ(asked("default/token"), 1u);
  server_.fault(R"({"path":".*token"})", R"({"status":404,"body":""})");
  pass_s(2);  // 239 s are left
  EXPECT_EQ(*token.get(), *first);
  EXPECT_EQ(asked("default/token"), 2u);
  EXPECT_EQ(*token.get(), *first);
  EXPECT_EQ(asked("default/token"), 2u) << "a failed attempt is not repeated for every row";
  pass_s(240);
  EXPECT_FALSE(token.get());
  server_.faults("[]");
  ASSERT_TRUE(token.get());
  EXPECT_NE(*token.get(), *first);
}

TEST_F(Google, NobodyWaitsForANewOneWhileTheOldOneIsValid) {
  GoogleToken token(http_, {}, clock_);
  const auto first = token.get();
  ASSERT_TRUE(first) << first.error().message();
  server_.fault(R"({"path":".*token"})", R"({"status":503,"body":""})");
  pass_s(761);
  EXPECT_EQ(*token.get(), *first);
  EXPECT_EQ(asked("default/token"), 2u) << "one look, and no repeats";
}

TEST_F(Google, ARefusedTokenIsReplaced) {
  GoogleToken token(http_, {}, clock_);
  const auto first = token.get();
  ASSERT_TRUE(first);
  token.refuse();
  const auto second = token.get();
  ASSERT_TRUE(second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(token.project().value_or(""), "p");
}

TEST_F(Google, AProjectThatIsNotToldAtOnceIsAskedForAgain) {
  server_.faults(R"([{"match":{"path":".*project-id","to":14},"action":{"status":503,"body":""}}])");
  GoogleToken token(http_, {}, clock_);
  EXPECT_EQ(token.project().error().code, Code::io);
  EXPECT_EQ(token.project_within(60'000).value_or(""), "p");
  server_.fault(R"({"path":".*project-id"})", R"({"status":503,"body":""})");
  EXPECT_EQ(token.project_within(20'000).error().code, Code::io);
}

TEST_F(Google, MetadataServer) {
  GceMetadata metadata(http_);
  EXPECT_EQ(metadata.get("instance/id").value_or(""), "77");
  EXPECT_EQ(metadata.get("instance/none").error().code, Code::not_available);
  EXPECT_EQ(asked("instance/none"), 1u);
  server_.faults(R"([{"match":{"path":".*id","to":2},"action":{"status":503,"body":""}}])");
  EXPECT_EQ(metadata.get("instance/id").value_or(""), "77");
  const auto now = metadata.wait_for_change("instance/id", "", 1);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->value, "77");
  EXPECT_FALSE(now->etag.empty());
  EXPECT_EQ(metadata.wait_for_change("instance/id", now->etag, 1)->value, "77");
}

TEST_F(Google, AServerThatFailsIsNotAskedForEveryValue) {
  server_.fault(R"({"path":".*"})", R"({"status":503,"body":""})");
  GceMetadata metadata(http_, "", clock_);
  EXPECT_EQ(metadata.get("instance/id").error().code, Code::io);
  EXPECT_EQ(asked("instance/"), 6u);
  EXPECT_EQ(metadata.get("instance/zone").error().code, Code::io);
  EXPECT_EQ(asked("instance/"), 6u);
  server_.faults("[]");
  pass_s(11);
  EXPECT_EQ(metadata.get("instance/id").value_or(""), "77");
}

TEST_F(Google, AServerThatNeverSaysAWordIsDead) {
  server_.fault(R"({"path":".*"})", R"({"reset":"start"})");
  GceMetadata metadata(http_, "", clock_);
  EXPECT_EQ(metadata.get("instance/id").error().code, Code::not_available);
  EXPECT_TRUE(metadata.is_dead());
  const size_t tries = asked("instance/");
  EXPECT_FALSE(metadata.get("instance/zone"));
  EXPECT_EQ(asked("instance/"), tries);
  server_.faults("[]");
  pass_s(301);
  EXPECT_EQ(metadata.get("instance/id").value_or(""), "77") << "it may come later";
}

TEST_F(Google, AtTheEndNothingIsRepeated) {
  server_.fault(R"({"path":".*"})", R"({"status":503,"body":""})");
  GceMetadata metadata(http_, "", clock_);
  metadata.on_cancel([] { return true; });
  EXPECT_EQ(metadata.get("instance/id").error().code, Code::io);
  EXPECT_EQ(asked("instance/"), 1u);
}

TEST_F(Google, AnswersOfOthersDoNotCount) {
  server_.post("/__config", R"({"flavor":"Moogle"})");
  GceMetadata metadata(http_);
  EXPECT_EQ(metadata.get("instance/id").error().code, Code::not_available);
  EXPECT_TRUE(metadata.is_dead());
  EXPECT_FALSE(metadata.get("instance/id"));
  EXPECT_EQ(asked("instance/id"), 1u) << "it is found out once";
}

TEST_F(Google, ADeadServerIsFoundOutOnce) {
  GceMetadata metadata(http_, "127.0.0.1:1");
  EXPECT_FALSE(metadata.get("instance/id"));
  EXPECT_TRUE(metadata.is_dead());
  set("TACHO_NO_CLOUD", "1");
  GceMetadata forbidden(http_);
  EXPECT_FALSE(forbidden.get("instance/id"));
  EXPECT_EQ(asked("instance/id"), 0u);
}

TEST_F(Google, WhereBigQueryIs) {
  set("BIGQUERY_EMULATOR_HOST", nullptr);
  EXPECT_EQ(*bq_base_url(""), "https://bigquery.googleapis.com/bigquery/v2");
  EXPECT_EQ(*bq_base_url("localhost:9050"), "http://localhost:9050/bigquery/v2");
  EXPECT_EQ(*bq_base_url("https://x.example/"), "https://x.example/bigquery/v2");
  EXPECT_EQ(*bq_base_url("http://x:1/base/v2/"), "http://x:1/base/v2");
  EXPECT_FALSE(bq_base_url("http://user@x/"));
  EXPECT_FALSE(bq_base_url("http://x/?q"));
  set("BIGQUERY_EMULATOR_HOST", "emulator:9050");
  EXPECT_EQ(*bq_base_url(""), "http://emulator:9050/bigquery/v2");
  EXPECT_EQ(*bq_base_url("flag:1"), "http://flag:1/bigquery/v2");
}

// In the clear, and to a host that is not this machine, a token is never sent.
TEST_F(Google, NoTokenInTheClear) {
  GoogleToken token(http_, {});
  auto client = BigQuery::open(http_, {"p", "d", "", "http://emulator.invalid:1", true, false, 0, 0, {}}, &token);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->get_dataset().what, BqClass::retry);
  EXPECT_EQ(asked("default/token"), 0u) << "not even fetched";
}

TEST(BigQueryNames, Hash) {
  EXPECT_EQ(bq_hash({"a", "b"}), bq_hash({std::string("a\0b", 3)}));
  EXPECT_NE(bq_hash({"ab", ""}), bq_hash({"a", "b"}));
  EXPECT_EQ(bq_hash({""}), "e3b0c44298fc1c149afbf4c8996fb924");
  EXPECT_FALSE(check_bq_name("dataset", "a/b"));
  EXPECT_FALSE(check_bq_name("dataset", ""));
  EXPECT_TRUE(check_bq_name("project", "example.com:p-1"));
}

}  // namespace
}  // namespace tacho
