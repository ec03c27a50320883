#include "net/google/bigquery_errors.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

std::string error_body(const std::string& reason, const std::string& message = "") {
  return R"({"error":{"code":400,"message":")" + message + R"(","errors":[{"reason":")" + reason +
         R"(","message":""}]}})";
}

struct Case {
  BqCall call;
  int status;
  std::string body;
  BqClass expected;
};

// cromwell-bigquery.md §2.4, row by row.
TEST(BigQueryErrors, EveryAnswerHasItsClass) {
  using enum BqCall;
  const std::string ok = R"({"kind":"bigquery#tableDataInsertAllResponse"})";
  const Case cases[] = {
      {insert, 200, ok, BqClass::done},
      {insert, 200, "", BqClass::retry},
      {insert, 200, R"({"kind":"bigq)", BqClass::retry},
      {insert, 200, "<html>", BqClass::retry},
      {insert, 200, "[]", BqClass::retry},
      {get_table, 200, "", BqClass::retry},
      {insert, 400, error_body("invalid", "Request payload size exceeds the limit: 10485760 bytes."),
       BqClass::too_large},
      {insert, 400, error_body("invalid", "too many rows present in the request, limit: 10000"), BqClass::too_large},
      {insert, 413, "", BqClass::too_large},
      {insert, 413, "<html>Request Entity Too Large</html>", BqClass::too_large},
      {insert, 400, error_body("invalid"), BqClass::split},
      {insert, 400, error_body("badRequest"), BqClass::split},
      {insert, 400, "<html>", BqClass::split},
      {patch_table, 400, error_body("invalid", "Cannot add required fields to an existing schema."), BqClass::refused},
      {patch_table, 403, error_body("accessDenied"), BqClass::refused},
      {create_table, 400, error_body("invalid"), BqClass::blocked},
      {insert, 401, error_body("authError"), BqClass::token},
      {get_table, 401, "", BqClass::token},
      {insert, 403, error_body("rateLimitExceeded"), BqClass::retry},
      {insert, 429, "", BqClass::retry},
      {insert, 403, error_body("quotaExceeded"), BqClass::quota},
      {insert, 403, error_body("accessDenied"), BqClass::blocked},
      {insert, 403, error_body("billingNotEnabled"), BqClass::blocked},
      {insert, 403, error_body("policyViolation", "VPC Service Controls"), BqClass::blocked},
      {insert, 403, "", BqClass::blocked},
      {insert, 403, "<html>Forbidden</html>", BqClass::blocked},
      {insert, 403, R"({"error":{"status":"RESOURCE_EXHAUSTED"}})", BqClass::retry},
      {insert, 403, R"({"error":{"status":"PERMISSION_DENIED"}})", BqClass::blocked},
      {insert, 404, error_body("notFound"), BqClass::not_found},
      {insert, 404, "", BqClass::not_found},
      {create_table, 409, error_body("duplicate"), BqClass::done},
      {create_dataset, 409, "", BqClass::done},
      {insert, 409, "", BqClass::drop_batch},
      {patch_table, 412, error_body("conditionNotMet"), BqClass::changed},
      {insert, 408, "", BqClass::retry},
      {insert, 500, "", BqClass::retry},
      {insert, 502, "<html>", BqClass::retry},
      {insert, 503, error_body("backendError"), BqClass::retry},
      {insert, 504, "", BqClass::retry},
      {insert, 400, error_body("backendError"), BqClass::retry},
      {insert, 400, error_body("internalError"), BqClass::retry},
      {insert, 404, error_body("tableUnavailable"), BqClass::retry},
      {insert, 418, "", BqClass::drop_batch},
      {insert, 501, "", BqClass::drop_batch},
      {insert, 505, "", BqClass::drop_batch},
      {insert, 302, "", BqClass::blocked},
      {insert, 307, "", BqClass::blocked},
  };
  for (const Case& one : cases) {
    const BqVerdict verdict = classify_bq(one.call, one.status, one.body);
    EXPECT_EQ(verdict.what, one.expected) << one.status << " " << one.body;
    EXPECT_EQ(verdict.status, one.status);
    EXPECT_TRUE(verdict.what == BqClass::done || !verdict.message.empty()) << one.status;
  }
}

TEST(BigQueryErrors, NoAnswer) {
  EXPECT_EQ(classify_bq(Error{Code::io, "reset", "", ""}).what, BqClass::retry);
  EXPECT_EQ(classify_bq(Error{Code::gone, "cut short", "", ""}).what, BqClass::retry);
  EXPECT_EQ(classify_bq(Error{Code::denied, "certificate", "", ""}).what, BqClass::blocked);
  EXPECT_EQ(classify_bq(Error{Code::invalid, "redirect", "", ""}).what, BqClass::blocked);
}

TEST(BigQueryErrors, RowsOneByOne) {
  const BqVerdict verdict = classify_bq(BqCall::insert, 200, R"({"insertErrors":[
      {"index":0,"errors":[{"reason":"stopped","location":"","message":""}]},
      {"index":1,"errors":[{"reason":"invalid","location":"zone","message":"no such field: zone."}]},
      {"index":2,"errors":[{"reason":"stopped"},{"reason":"invalid","location":"x","message":"Cannot convert"}]},
      {"index":3,"errors":[{"reason":"timeout"}]}, {"index":4,"errors":[{"reason":"backendError"}]}, {"index":5,"errors":[{"reason":"internalError"}]},
      {"index":6,"errors":[{"reason":"somethingNew","message":"?"}]}, 7, {"index":-1}]})");
  ASSERT_EQ(verdict.what, BqClass::done);
  ASSERT_EQ(verdict.rows.size(), 9u);
  using enum BqRowClass;
  const BqRowClass expected[] = {stopped, no_such_field, invalid, retry, retry, retry, invalid};
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(verdict.rows[i].index, i);
    EXPECT_EQ(static_cast<int>(verdict.rows[i].what), static_cast<int>(expected[i])) << i;
  }
  EXPECT_EQ(verdict.rows[1].location, "zone");
}

TEST(BigQueryErrors, OddBodiesDoNotCrash) {
  for (const char* body :
       {"null", "7", R"({"error":7})", R"({"error":{"errors":7}})", R"({"error":{"errors":[7]}})",
        R"({"insertErrors":{}})", R"({"insertErrors":[[]]})", "\xff\xfe", R"({"error":{"message":7}})"}) {
    for (const int status : {200, 400, 403, 500}) static_cast<void>(classify_bq(BqCall::insert, status, body));
  }
}

}  // namespace
}  // namespace tacho
