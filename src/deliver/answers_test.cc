#include "deliver/answers.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "codec/gunzip.h"
#include "deliver/batch_uploader.h"
#include "deliver/compress.h"

namespace tacho {
namespace {

constexpr int64_t kNow_ns = 1'794'751'200 * kNsPerSec;  // 2026-11-15T14:00:00Z

std::optional<AwsCredentials> credentials(const char* text) { return parse_credentials(parse_json(text), kNow_ns, 77); }

TEST(Credentials, AllSpellings) {
  for (const char* text : {R"({"access_key":"A","secret_key":"S","session_token":"T"})",
                           R"({"access_key_id":"A","secret_access_key":"S","session_token":"T"})",
                           R"({"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T"})"}) {
    const auto found = credentials(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->access_key + found->secret_key + found->session_token, "AST");
    EXPECT_EQ(found->received_monotonic_ns, 77);
    EXPECT_EQ(found->expires_realtime_ns, kNow_ns + 900 * kNsPerSec);  // never for ever
  }
  for (const char* text : {"null", "[]", "{}", R"({"access_key":"A"})", R"({"access_key":1.5e3,"secret_key":null})"})
    EXPECT_FALSE(credentials(text)) << text;
}

TEST(Credentials, ExpiryInAllForms) {
  const auto expiry = [](const std::string& member) {
    return credentials((R"({"access_key":"A","secret_key":"S",)" + member + "}").c_str())->expires_realtime_ns;
  };
  const int64_t hour = kNow_ns + 3600 * kNsPerSec;
  EXPECT_EQ(expiry(R"("expires_at":"2026-11-15T15:00:00Z")"), hour);
  EXPECT_EQ(expiry(R"("expiration":"2026-11-15T15:00:00+00:00")"), hour);
  EXPECT_EQ(expiry(R"("expires_at":"2026-11-15T20:30:00.000000+05:30")"), hour);
  EXPECT_EQ(expiry(R"("expires_at":1794754800)"), hour);
  EXPECT_EQ(expiry(R"("expires_at":"1794754800")"), hour);
  EXPECT_EQ(expiry(R"("expires_at":"soon")"), kNow_ns + 900 * kNsPerSec);
  EXPECT_EQ(expiry(R"("expires_at":-5)"), kNow_ns + 900 * kNsPerSec);
  EXPECT_EQ(expiry(R"("expires_at":{"a":1})"), kNow_ns + 900 * kNsPerSec);
}

std::string detail(std::string_view loc, std::string_view msg = "no") {
  return R"({"detail":[{"loc":)" + std::string(loc) + R"(,"msg":")" + std::string(msg) + R"(","type":"x"}]})";
}

TEST(Relax, LeavesOutWhatIsNotWanted) {
  Json body = parse_json(R"({"team":"t","env":"e"})");
  Relaxed memory;
  EXPECT_TRUE(relax(body, detail(R"(["body","team"])"), memory));
  EXPECT_EQ(body.dump(), R"({"env":"e"})");
  EXPECT_EQ(memory.dropped, std::vector<std::string>{"team"});
  EXPECT_FALSE(relax(body, detail(R"(["body","team"])"), memory));  // it is not there any more
}

TEST(Relax, OtherNameFirst) {
  Json body = parse_json(R"({"host_hostname":"h"})");
  Relaxed memory;
  EXPECT_TRUE(relax(body, detail(R"(["body","host_hostname"])"), memory));
  EXPECT_EQ(memory.renamed, std::vector<std::string>{"host_hostname"});
  EXPECT_EQ(body.dump(), R"({"host_name":"h"})");
  EXPECT_TRUE(memory.dropped.empty());
  EXPECT_TRUE(relax(body, detail(R"(["body","host_name"])"), memory));
  EXPECT_EQ(body.dump(), "{}");
}

TEST(Relax, TagsAsObjectThenNotAtAll) {
  Json body = parse_json(R"({"tags":["a=b","c=d=e"]})");
  Relaxed memory;
  EXPECT_TRUE(relax(body, detail(R"(["body","tags",0])"), memory));
  EXPECT_EQ(body.dump(), R"({"tags":{"a":"b","c":"d=e"}})");
  EXPECT_TRUE(relax(body, detail(R"(["body","tags"])"), memory));
  EXPECT_EQ(body.dump(), "{}");
  EXPECT_EQ(memory.dropped, std::vector<std::string>{"tags"});
}

TEST(Relax, DataSourceIsTriedTheOtherWayOnce) {
  Json body = parse_json(R"({"data_source":"inline","data_csv":"x","run_status":"failed"})");
  Relaxed memory;
  const std::string tag = detail(R"(["body"])", "Input tag 'inline' found using 'data_source' does not match");
  EXPECT_TRUE(relax(body, tag, memory));
  EXPECT_EQ(text_of(body, "data_source"), "local");
  EXPECT_FALSE(relax(body, tag, memory));
}

TEST(Relax, NeededFieldsStay) {
  for (const char* field : {"data_csv", "run_status"}) {
    Json body = parse_json(R"({"data_source":"inline","data_csv":"x","run_status":"failed","exit_code":1})");
    Relaxed memory;
    EXPECT_FALSE(relax(body, detail(std::string(R"(["body","inline",")") + field + "\"]"), memory)) << field;
  }
  Json body = parse_json(R"({"data_source":"s3","data_uris":[],"run_status":"failed","finished_at":"x"})");
  Relaxed memory;
  EXPECT_TRUE(relax(body, detail(R"(["body","s3","finished_at"])"), memory));
  EXPECT_FALSE(body.contains("finished_at"));
}

TEST(Relax, NoValidationError) {
  Json body = parse_json(R"({"team":"t"})");
  Relaxed memory;
  for (const char* answer : {"", "<html>", "[]", "{}", R"({"detail":"no"})", R"({"detail":[]})", R"({"detail":[3]})",
                             R"({"detail":[{"loc":["body","other"],"msg":"no"}]})", R"({"detail":[{"msg":1}]})"})
    EXPECT_FALSE(relax(body, answer, memory)) << answer;
  EXPECT_EQ(body.dump(), R"({"team":"t"})");
}

TEST(ObjectUri, RunIdOnce) {
  EXPECT_EQ(object_uri("s3://b/p", "r1", 0), "s3://b/p/r1/000000.csv.gz");
  EXPECT_EQ(object_uri("s3://b/p//", "r1", 12), "s3://b/p/r1/000012.csv.gz");
  EXPECT_EQ(object_uri("s3://b/r1/p", "r1", 1), "s3://b/r1/p/000001.csv.gz");
  EXPECT_EQ(object_uri("s3://b/r12/p", "r1", 1), "s3://b/r12/p/r1/000001.csv.gz");
  EXPECT_EQ(object_uri("S3://b/p", "r1", 1), "s3://b/p/r1/000001.csv.gz");
  EXPECT_EQ(object_uri("s3://r1/p", "r1", 1), "s3://r1/p/r1/000001.csv.gz");  // a bucket's name is no part of the path
}

TEST(Compress, SameBytesAndNothingLost) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919) + ",0.000,1\n";
  const std::string bytes = gzip(text);
  EXPECT_EQ(bytes, gzip(text));
  EXPECT_EQ(bytes.substr(4, 4), std::string(4, '\0'));  // no time
  std::string back;
  GzipDecoder decoder;
  EXPECT_TRUE(decoder.decode(bytes, back));
  EXPECT_EQ(back, text);
  EXPECT_FALSE(gzip("").empty());
}

TEST(Records, StateSurvives) {
  SpoolState state;
  state.run_id = "r\"1";
  state.prefix = "s3://b/p";
  state.uploaded = {{0, "s3://b/p/0"}, {10, "s3://b/p/10"}, {2, "s3://b/p/2"}};
  const SpoolState back = *parse_spool_state(state_json(state));
  EXPECT_EQ(back.run_id, state.run_id);
  EXPECT_EQ(back.prefix, state.prefix);
  EXPECT_EQ(back.uploaded, state.uploaded);
  EXPECT_FALSE(back.finished);
  state.finished = true;
  EXPECT_TRUE(parse_spool_state(state_json(state))->finished);
  EXPECT_TRUE(parse_spool_state(R"({"uploaded":{"x":1,"3":4}})")->uploaded.empty());
  for (const char* bad : {"", "{", "[]", "null"}) EXPECT_EQ(parse_spool_state(bad).error().code, Code::invalid) << bad;
}

}  // namespace
}  // namespace tacho
