// JSON from outside is measured before a tree is made of it, wherever it is read.
#include <gtest/gtest.h>

#include "net/aws/aws_metadata.h"
#include "net/aws/aws_process.h"
#include "net/aws/aws_sso.h"
#include "net/aws/aws_sso_token.h"
#include "net/google/bigquery_errors.h"
#include "net/google/bigquery_schema.h"
#include "net/google/google_credentials.h"

namespace tacho {
namespace {

// An object that would be good, but for one member that is 100,000 levels deep.
std::string with_depth(const std::string& members) {
  constexpr size_t kLevels = 100'000;
  return "{" + members + R"(,"more":)" + std::string(kLevels, '[') + std::string(kLevels, ']') + "}";
}
std::string with_depth_less(const std::string& members) { return "{" + members + R"(,"more":[[1]]})"; }

TEST(OutsideJson, DeepAnswersOfBigQuery) {
  const std::string fields = R"("kind":"bigquery#tableDataInsertAllResponse")";
  EXPECT_EQ(classify_bq(BqCall::insert, 200, with_depth_less(fields)).what, BqClass::done);
  EXPECT_EQ(classify_bq(BqCall::insert, 200, with_depth(fields)).what, BqClass::retry)
      << "what became of the rows is not known";
  EXPECT_NE(classify_bq(BqCall::insert, 400, with_depth(R"("error":{"message":"no"})")).what, BqClass::done);
  EXPECT_TRUE(parse_bq_table(with_depth_less(R"("etag":"e")")));
  EXPECT_FALSE(parse_bq_table(with_depth(R"("etag":"e")")));
  EXPECT_FALSE(parse_bq_fields("[" + with_depth(R"("name":"a","type":"STRING")") + "]"));
  std::string row = with_depth(R"("a":1)");
  EXPECT_FALSE(trim_bq_row(row, 100));
}

TEST(OutsideJson, DeepCredentials) {
  const std::string role =
      R"("AccessKeyId":"AKIA","SecretAccessKey":"s","Token":"t","Expiration":"2099-01-01T00:00:00Z","Version":1)";
  EXPECT_TRUE(parse_aws_credentials_json(with_depth_less(role)));
  EXPECT_FALSE(parse_aws_credentials_json(with_depth(role)));
  EXPECT_TRUE(parse_process_credentials(with_depth_less(role)));
  EXPECT_FALSE(parse_process_credentials(with_depth(role)));
  const std::string sso =
      R"("roleCredentials":{"accessKeyId":"a","secretAccessKey":"s","sessionToken":"t","expiration":4070908800000})";
  EXPECT_TRUE(parse_role_credentials(with_depth_less(sso)));
  EXPECT_FALSE(parse_role_credentials(with_depth(sso)));
  const std::string token = R"("accessToken":"t","expiresAt":"2099-01-01T00:00:00Z")";
  EXPECT_TRUE(parse_sso_token(with_depth_less(token), 0));
  EXPECT_FALSE(parse_sso_token(with_depth(token), 0));
  EXPECT_EQ(renewed_sso_token(with_depth(token), with_depth(token), 0), "");
  const std::string google = R"("access_token":"t","expires_in":3600)";
  EXPECT_TRUE(parse_token_answer(with_depth_less(google)));
  EXPECT_FALSE(parse_token_answer(with_depth(google)));
  const std::string user = R"("type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r")";
  EXPECT_TRUE(parse_google_credentials(with_depth_less(user), "file"));
  EXPECT_FALSE(parse_google_credentials(with_depth(user), "file"));
}

// A list of commas: a megabyte of text would be a hundred of tree.
TEST(OutsideJson, ManyValues) {
  std::string list(1'000'001, '0');
  for (size_t i = 2; i < list.size(); i += 2) list[i] = ',';
  list.front() = '[', list.back() = ']';
  EXPECT_FALSE(parse_bq_table(R"({"etag":"e","more":)" + list + "}"));
}

}  // namespace
}  // namespace tacho
