#include "cromwell/sizes.h"

#include <gtest/gtest.h>

#include "cromwell/existing.h"

namespace tacho {
namespace {

TEST(Sizes, Answers) {
  int64_t bytes = -1;
  EXPECT_EQ(classify_size(200, R"({"size":"1234","generation":"9"})", bytes), SizeAnswer::known);
  EXPECT_EQ(bytes, 1234);
  EXPECT_EQ(classify_size(200, R"({"size":5})", bytes), SizeAnswer::known);
  EXPECT_EQ(classify_size(200, R"({"size":"12)", bytes), SizeAnswer::again);  // cut off
  EXPECT_EQ(classify_size(200, R"({"size":"-1"})", bytes), SizeAnswer::again);
  for (const int status : {400, 403, 404, 410, 412, 301})
    EXPECT_EQ(classify_size(status, "", bytes), SizeAnswer::unknown) << status;
  EXPECT_EQ(classify_size(400, R"({"error":{"message":"Bucket is a requester pays bucket but no user project provided."}})", bytes), SizeAnswer::ask_as_user);
  EXPECT_EQ(classify_size(401, "", bytes), SizeAnswer::new_token);
  for (const int status : {0, 408, 429, 500, 502, 503, 504})
    EXPECT_EQ(classify_size(status, "", bytes), SizeAnswer::again) << status;
}

TEST(Sizes, Addresses) {
  EXPECT_EQ(*gcs_base_url("localhost:4443"), "http://localhost:4443/storage/v1");
  EXPECT_EQ(*gcs_base_url("https://x.example/"), "https://x.example/storage/v1");
  EXPECT_EQ(*gcs_base_url("http://x/storage/v1"), "http://x/storage/v1");
  EXPECT_FALSE(gcs_base_url("ftp://x"));
  EXPECT_EQ(gcs_object_url("http://h/storage/v1", "gs://b/a/b c?#%.txt"),
            "http://h/storage/v1/b/b/o/a%2Fb%20c%3F%23%25.txt");
}

TEST(Existing, AsksOnceForAllWorkflows) {
  Expected expected;
  EXPECT_EQ(expected.sql("p.d.t"), "");
  MetadataRow row;
  row.workflow_id = "w-1";
  row.start_ns = 1'790'000'000'000'000'000;  // 2026-09-21
  expected.add(row, row.start_ns);
  EXPECT_EQ(expected.sql("p.d.t"),
            "SELECT COUNT(*) FROM `p.d.t` WHERE workflow_id = 'w-1' AND start_time >= TIMESTAMP('2026-09-21') AND "
            "start_time < TIMESTAMP('2026-09-22')");
  row.workflow_id = "w-2";
  expected.add(row, row.start_ns);
  EXPECT_NE(expected.sql("p.d.t").find("workflow_id IN ('w-1', 'w-2')"), std::string::npos);
  EXPECT_EQ(expected.rows(), 2u);
  row.start_ns = 1;  // too old to be in the table
  expected.add(row, 1'790'000'000'000'000'000);
  EXPECT_EQ(expected.rows(), 2u);
  row.start_ns = 1'790'000'000'000'000'000;
  row.workflow_id = "w' OR 1=1 --";
  expected.add(row, row.start_ns);
  EXPECT_EQ(expected.sql("p.d.t"), "");  // nothing that needs escaping is asked for
}

}  // namespace
}  // namespace tacho
