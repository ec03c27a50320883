#include "net/aws/s3.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "net/aws/s3_address.h"
#include "support/double.h"
#include "support/temp_dir.h"
#include "support/tls_files.h"

namespace tacho {
namespace {

using nlohmann::json;

constexpr int64_t kHourNs = 3'600'000'000'000;

// The machine's clock, off by an hour or two.
class WrongClock : public Clock {
 public:
  int64_t monotonic_ns() override { return system_clock().monotonic_ns(); }
  int64_t realtime_ns() override { return system_clock().realtime_ns() + off_ns; }
  int wait(std::span<pollfd> fds, int64_t deadline_ns) override { return system_clock().wait(fds, deadline_ns); }
  int64_t off_ns = 0;
};

class S3 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    spill(*folder_ / "config.json", R"({"credentials":{}})");
    tls_ = new TlsFiles(folder_->path(),
                        "DNS:*.s3.amazonaws.com,DNS:*.s3.eu-west-1.amazonaws.com,DNS:*.s3.eu-central-1.amazonaws.com,"
                        "DNS:s3.eu-west-1.amazonaws.com,DNS:s3.amazonaws.com,DNS:*.s3.cn-north-1.amazonaws.com.cn");
    server_ = new DoubleServer("s3_double.py",
                               {"--config", *folder_ / "config.json", "--connect-tls", tls_->certificate, tls_->key});
  }
  static void TearDownTestSuite() {
    delete server_;
    delete tls_;
    delete folder_;
  }
  void SetUp() override {
    server_->faults("[]");
    config(
        R"({"buckets":{"data":"us-east-1","a.b.c":"eu-west-1","far":"eu-west-1","china":"cn-north-1"},"base_path":"","virtual_host":"s3.localhost"})");
    config(
        R"({"credentials":{"AKIA":{"secret_key":"se/cret","session_token":"to/ken+=="},"LONG":{"secret_key":"plain"}}})");
    settings_.endpoint = server_->url();
    server_->post("/__log");
  }
  static void config(const std::string& text) { server_->post("/__config", text); }

  S3Result put(const std::string& key = "p/000000.csv.gz", const std::string& bucket = "data") {
    S3Client client(http_, settings_, clock_);
    return client.put({bucket, key}, body_, "application/gzip", credentials_);
  }
  static json objects() { return json::parse(server_->get("/__objects")); }
  static json log() { return json::parse(server_->log()); }

  static TempDir* folder_;
  static TlsFiles* tls_;
  static DoubleServer* server_;
  HttpClient http_;
  S3Settings settings_;
  WrongClock clock_;
  AwsCredentials credentials_{"AKIA", "se/cret", "to/ken+==", 0, "", 0};
  std::string body_ = std::string("\x1f\x8b\0\xff body", 9);
};
TempDir* S3::folder_ = nullptr;
TlsFiles* S3::tls_ = nullptr;
DoubleServer* S3::server_ = nullptr;

TEST_F(S3, PutsAnObjectThatAStrictServerTakes) {
  const S3Result result = put();
  EXPECT_EQ(result.verdict, S3Verdict::done) << result.message;
  EXPECT_EQ(result.status, 200);
  const json object = objects()["data/p/000000.csv.gz"];
  EXPECT_EQ(object["size"], body_.size());
  EXPECT_EQ(object["content_type"], "application/gzip");
  const json seen = log()[0]["headers"];
  EXPECT_NE(seen["authorization"].get<std::string>().find(
                "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"),
            std::string::npos);
  EXPECT_TRUE(seen.contains("content-md5"));
  EXPECT_FALSE(seen.contains("expect"));
}

TEST_F(S3, PutsWithoutASessionTokenToo) {
  credentials_ = {"LONG", "plain", "", 0, "", 0};
  EXPECT_EQ(put().verdict, S3Verdict::done);
}

TEST_F(S3, EncodesKeysOnce) {
  for (const char* key :
       {"a b+c%20d/é=&?#:@!$'()*,;[]|\\^`{}~_-.x", "dots/../and/./more", "p%2Fq/1", "\x01\xff-not-utf8"}) {
    EXPECT_EQ(put(key).verdict, S3Verdict::done) << key;
  }
  EXPECT_TRUE(objects().contains("data/a b+c%20d/é=&?#:@!$'()*,;[]|\\^`{}~_-.x"));
  EXPECT_TRUE(objects().contains("data/p%2Fq/1"));
}

TEST_F(S3, RepeatsGiveTheSameObject) {
  server_->fault(R"({"nth":1})", R"({"reset":"answer"})");
  EXPECT_EQ(put("again").verdict, S3Verdict::retry);
  EXPECT_EQ(put("again").verdict, S3Verdict::done);
  EXPECT_EQ(objects()["data/again"]["puts"], 2);
  EXPECT_EQ(objects()["data/again"]["bodies"], 1);
}

TEST_F(S3, TakesTheEndpointOfTheCredentialsWhereNoneIsSet) {
  credentials_.endpoint = server_->url();
  settings_.endpoint = "http://127.0.0.1:1";
  EXPECT_EQ(put("k").verdict, S3Verdict::retry);
  settings_.endpoint.clear();
  EXPECT_EQ(put("k").verdict, S3Verdict::done);
}

TEST_F(S3, KeepsTheEndpointsPathAndPort) {
  config(R"({"base_path":"/s3/v 1"})");
  settings_.endpoint = server_->url("/s3/v%201/");
  EXPECT_EQ(put("k").verdict, S3Verdict::done);
  settings_.path_style = false;
  settings_.endpoint = "http://s3.localhost:" + std::to_string(server_->port()) + "/s3/v%201";
  EXPECT_EQ(put("virtual").verdict, S3Verdict::done);
  EXPECT_TRUE(objects().contains("data/virtual"));
}

TEST_F(S3, SignsTheRegionAskedForOrUsEast1AtAnEndpoint) {
  EXPECT_EQ(put().verdict, S3Verdict::done);
  EXPECT_NE(log()[0]["headers"]["authorization"].get<std::string>().find("/us-east-1/s3/"), std::string::npos);
  config(R"({"buckets":{"data":"eu-north-1"}})");
  credentials_.region = "eu-north-1";
  server_->post("/__log");
  EXPECT_EQ(put().verdict, S3Verdict::done);
  EXPECT_EQ(log().size(), 1u);
  settings_.region = "eu-south-1";  // beats the credentials', and is wrong
  server_->post("/__log");
  EXPECT_EQ(put().verdict, S3Verdict::done);
  EXPECT_EQ(log().size(), 2u);
}

TEST_F(S3, TakesTheRegionFromAnAnswerAndKeepsIt) {
  S3Client client(http_, settings_, clock_);
  EXPECT_EQ(client.put({"far", "1"}, body_, "", credentials_).verdict, S3Verdict::done);
  EXPECT_EQ(client.put({"far", "2"}, body_, "", credentials_).verdict, S3Verdict::done);
  const json seen = log();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0]["note"], "AuthorizationHeaderMalformed");
  EXPECT_EQ(seen[2]["status"], 200);
}

TEST_F(S3, TakesNoRegionThatWouldLeadElsewhere) {
  for (const char* evil : {"evil.com/", "evil.com#", "x@evil.com", "-x", "eu west", "EVIL", ""}) {
    const json rules = {{{"action",
                          {{"status", 301},
                           {"code", "PermanentRedirect"},
                           {"headers", {{"x-amz-bucket-region", evil}}},
                           {"extra", {{"Region", evil}}}}}}};
    server_->faults(rules.dump());
    const S3Result result = put();
    EXPECT_EQ(result.verdict, S3Verdict::give_up) << evil;
    EXPECT_EQ(result.error_class, ErrorClass::other) << evil;
  }
  // A server that sends us round and round.
  server_->faults(
      R"([{"match":{"nth":[1,3,5,7,9]},"action":{"status":301,"headers":{"x-amz-bucket-region":"eu-west-1"}}},
                      {"action":{"status":301,"headers":{"x-amz-bucket-region":"eu-west-2"}}}])");
  server_->post("/__log");
  EXPECT_EQ(put().verdict, S3Verdict::give_up);
  EXPECT_LE(log().size(), 6u);
}

TEST_F(S3, UsesTheServersTime) {
  clock_.off_ns = -2 * kHourNs;
  S3Client client(http_, settings_, clock_);
  EXPECT_EQ(client.put({"data", "late"}, body_, "", credentials_).verdict, S3Verdict::done);
  EXPECT_NEAR(static_cast<double>(client.clock_offset_ns()), 2.0 * kHourNs, 5e9);
  EXPECT_EQ(client.put({"data", "late2"}, body_, "", credentials_).verdict, S3Verdict::done);
  EXPECT_EQ(log().size(), 3u);  // only the first was refused
  clock_.off_ns = 0;            // somebody set the clock
  EXPECT_EQ(client.put({"data", "late3"}, body_, "", credentials_).verdict, S3Verdict::done);
  EXPECT_EQ(client.clock_offset_ns(), 0);

  S3Client told(http_, settings_, clock_);
  clock_.off_ns = kHourNs;
  HttpRequest ping;
  ping.url = server_->url("/__ping");
  told.note_server_date(http_.send(ping)->header("date"));
  server_->post("/__log");
  EXPECT_EQ(told.put({"data", "early"}, body_, "", credentials_).verdict, S3Verdict::done);
  EXPECT_EQ(log().size(), 1u);
}

TEST_F(S3, AsksForFreshCredentials) {
  config(R"({"credentials":{"AKIA":{"secret_key":"se/cret","session_token":"to/ken+==","expires":1}}})");
  S3Result result = put();
  EXPECT_EQ(result.verdict, S3Verdict::refresh_credentials);
  EXPECT_EQ(result.error_code, "ExpiredToken");
  credentials_.session_token = "another";
  EXPECT_EQ(put().verdict, S3Verdict::refresh_credentials);  // InvalidToken
  credentials_.access_key = "NOBODY";
  EXPECT_EQ(put().verdict, S3Verdict::refresh_credentials);  // InvalidAccessKeyId
  credentials_.received_monotonic_ns = clock_.monotonic_ns();
  EXPECT_EQ(put().verdict, S3Verdict::give_up);  // fresh ones are not to blame
  server_->fault("{}", R"({"status":403,"code":"AccessDenied"})");
  EXPECT_EQ(put().verdict, S3Verdict::give_up);
  credentials_.received_monotonic_ns = 1;
  EXPECT_EQ(put().verdict, S3Verdict::refresh_credentials);
}

TEST_F(S3, GivesUpOnAWrongSecret) {
  credentials_.secret_key = "wrong";
  const S3Result result = put();
  EXPECT_EQ(result.verdict, S3Verdict::give_up);
  EXPECT_EQ(result.error_code, "SignatureDoesNotMatch");
  EXPECT_EQ(result.message.find("wrong"), std::string::npos);
  EXPECT_NE(result.message.find("the secret key is not that of the access key"), std::string::npos);
}

TEST_F(S3, RetriesWhatIsTemporary) {
  server_->fault("{}", R"({"status":503,"code":"SlowDown","headers":{"Retry-After":"12"}})");
  S3Result result = put();
  EXPECT_EQ(result.verdict, S3Verdict::retry);
  EXPECT_EQ(result.error_code, "SlowDown");
  EXPECT_EQ(result.retry_after_ms, 12'000);
  for (const char* action : {R"({"status":500,"body":"<html>"})", R"({"status":429})",
                             R"({"status":400,"code":"RequestTimeout"})", R"({"reset":"start"})", R"({"reset":"body"})",
                             R"({"half_close":true,"status":200})", R"({"status":307,"code":"TemporaryRedirect"})"}) {
    server_->fault("{}", action);
    EXPECT_EQ(put().verdict, S3Verdict::retry) << action;
  }
  for (const char* action : {R"({"status":404,"code":"NoSuchBucket"})", R"({"status":405})",
                             R"({"status":302,"headers":{"Location":"http://evil.test/"},"body":""})"}) {
    server_->fault("{}", action);
    result = put();
    EXPECT_EQ(result.verdict, S3Verdict::give_up) << action;
    EXPECT_EQ(result.error_class, ErrorClass::other) << action;
  }
}

TEST_F(S3, RefusesSettingsThatCannotWork) {
  EXPECT_EQ(put("").verdict, S3Verdict::give_up);
  EXPECT_EQ(put("k", "no/bucket").verdict, S3Verdict::give_up);
  settings_.endpoint = "http://minio.example.com:9000";
  const S3Result result = put();
  EXPECT_EQ(result.verdict, S3Verdict::give_up);
  EXPECT_NE(result.message.find("TACHO_ALLOW_HTTP"), std::string::npos);
  settings_.endpoint = "minio";
  EXPECT_EQ(put().verdict, S3Verdict::give_up);
}

// Amazon's own addresses, through a proxy that is the server behind itself.
TEST_F(S3, FindsTheRegionOfAnAmazonBucket) {
  const WithVariable proxy("HTTPS_PROXY", server_->url()), lower("https_proxy", nullptr),
      trust("SSL_CERT_FILE", tls_->certificate);
  const WithVariable none("NO_PROXY", nullptr), lower_none("no_proxy", nullptr);
  settings_ = {};
  S3Client client(http_, settings_, clock_);
  EXPECT_EQ(client.put({"far", "x y"}, body_, "", credentials_).verdict, S3Verdict::done);
  EXPECT_EQ(client.put({"far", "2"}, body_, "", credentials_).verdict, S3Verdict::done);
  json seen = log();
  std::vector<std::string> hosts;
  for (const json& entry : seen) {
    if (entry["method"] == "CONNECT") {
      EXPECT_FALSE(entry["headers"].contains("authorization"));
      continue;
    }
    hosts.push_back(entry["method"].get<std::string>() + " " + entry["headers"]["host"].get<std::string>() +
                    entry["path"].get<std::string>());
  }
  EXPECT_EQ(hosts, (std::vector<std::string>{"HEAD far.s3.amazonaws.com/", "PUT far.s3.eu-west-1.amazonaws.com/x%20y",
                                             "PUT far.s3.eu-west-1.amazonaws.com/2"}));

  // No answer to the probe: a guess, corrected by the PUT's own answer.
  server_->fault(R"({"method":"HEAD"})", R"({"status":500,"code":"InternalError"})");
  EXPECT_EQ(put("3", "far").verdict, S3Verdict::done);
  EXPECT_TRUE(objects().contains("far/3"));
  settings_.region = "cn-north-1";
  EXPECT_EQ(put("4", "china").verdict, S3Verdict::done);
  settings_.region = "eu-west-1";
  EXPECT_EQ(put("5", "a.b.c").verdict, S3Verdict::done);
  EXPECT_TRUE(objects().contains("a.b.c/5"));
}

TEST(S3Address, IsWhatTheContractSays) {
  const auto url = [](S3Settings settings, const char* bucket, const char* key, const char* region) {
    const Result<S3Address> address = s3_address(settings, {bucket, key}, region);
    return address ? address->url : address.error().what;
  };
  EXPECT_EQ(url({}, "data", "a/b c", "eu-central-1"), "https://data.s3.eu-central-1.amazonaws.com/a/b%20c");
  EXPECT_EQ(url({}, "data", "a", "cn-north-1"), "https://data.s3.cn-north-1.amazonaws.com.cn/a");
  EXPECT_EQ(url({}, "data", "a", "us-gov-west-1"), "https://data.s3.us-gov-west-1.amazonaws.com/a");
  EXPECT_EQ(url({}, "data", "a", "us-iso-east-1"), "https://data.s3.us-iso-east-1.c2s.ic.gov/a");
  EXPECT_EQ(url({}, "data", "a", "us-isob-east-1"), "https://data.s3.us-isob-east-1.sc2s.sgov.gov/a");
  EXPECT_EQ(url({}, "data", "a", "eusc-de-east-1"), "https://data.s3.eusc-de-east-1.amazonaws.eu/a");
  EXPECT_EQ(url({}, "data", "a", "us-gov-west-1"), "https://data.s3.us-gov-west-1.amazonaws.com/a");
  EXPECT_EQ(url({}, "da.ta", "a", "us-west-2"), "https://s3.us-west-2.amazonaws.com/da.ta/a");
  EXPECT_EQ(url({}, "Old_Bucket", "a", "us-east-1"), "https://s3.us-east-1.amazonaws.com/Old_Bucket/a");
  EXPECT_EQ(url({"", true, ""}, "data", "a", "us-west-2"), "https://s3.us-west-2.amazonaws.com/data/a");
  EXPECT_EQ(url({"https://minio.example.com:9000/base/", {}, ""}, "data", "a", "us-east-1"),
            "https://minio.example.com:9000/base/data/a");
  EXPECT_EQ(url({"https://MinIO.example.com:443", false, ""}, "data", "a", "us-east-1"),
            "https://data.minio.example.com/a");
  EXPECT_EQ(s3_address({"http://127.0.0.1:9000", {}, ""}, {"data", "a"}, "us-east-1")->host, "127.0.0.1:9000");
}

TEST(S3Address, ReadsTheRegionOfAnAnswer) {
  const auto region = [](Headers headers, const char* body) {
    return region_in_answer({301, std::move(headers), body});
  };
  EXPECT_EQ(region({{"x-amz-bucket-region", "eu-west-3"}}, "<Error><Region>us-east-1</Region></Error>"), "eu-west-3");
  EXPECT_EQ(region({}, "<Error><Region>us-east-2</Region></Error>"), "us-east-2");
  EXPECT_EQ(region({}, "<Error><Endpoint>b.s3.eu-west-1.amazonaws.com</Endpoint></Error>"), "eu-west-1");
  EXPECT_EQ(region({}, "<Error><Endpoint>b.s3-eu-west-1.amazonaws.com</Endpoint></Error>"), "eu-west-1");
  EXPECT_EQ(region({}, "<Error><Endpoint>s3.b.s3.eu-west-1.amazonaws.com</Endpoint></Error>"), "eu-west-1");
  EXPECT_EQ(region({{"location", "https://b.s3.ap-south-1.amazonaws.com/k"}}, ""), "ap-south-1");
  EXPECT_EQ(region({}, "<Error><Endpoint>b.s3.amazonaws.com</Endpoint></Error>"), "");
  EXPECT_EQ(region({}, "<Error><Endpoint>b.s3.eu-west-1.evil.com</Endpoint></Error>"), "");
  EXPECT_EQ(region({}, ""), "");
}

TEST(S3Uri, IsParsedWithoutDecoding) {
  const Result<S3Location> place = parse_s3_uri("s3://my-bucket/a%20b//c/");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->bucket, "my-bucket");
  EXPECT_EQ(place->key, "a%20b//c/");
  EXPECT_EQ(parse_s3_uri("s3://b")->key, "");
  EXPECT_EQ(parse_s3_uri("s3://b/")->key, "");
  for (const char* bad : {"", "s3:/b/k", "s3://", "s3:///k", "https://b/k", "s3://b@evil/k", "s3://b:80/k",
                          "s3://b c/k", "s3://../k", "b/k"}) {
    EXPECT_FALSE(parse_s3_uri(bad)) << bad;
  }
}

TEST(S3Settings, ComeFromTheEnvironment) {
  const WithVariable other("AWS_ENDPOINT_URL_S3", "https://two"), style("TACHO_S3_PATH_STYLE", "0"),
      region("TACHO_S3_REGION", " eu-west-1 ");
  const WithVariable not_ours("AWS_REGION", "us-west-1");
  {
    const WithVariable endpoint("TACHO_S3_ENDPOINT", "https://one");
    EXPECT_EQ(S3Settings::from_environment().endpoint, "https://one");
  }
  const S3Settings settings = S3Settings::from_environment();
  EXPECT_EQ(settings.endpoint, "https://two");
  EXPECT_EQ(settings.path_style, false);
  EXPECT_EQ(settings.region, "eu-west-1");
}

}  // namespace
}  // namespace tacho
