#include "cromwell/sizes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cromwell/existing.h"
#include "cromwell/written_rows.h"
#include "support/double.h"
#include "support/temp_dir.h"

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
  EXPECT_EQ(
      classify_size(400, R"({"error":{"message":"Bucket is a requester pays bucket but no user project provided."}})",
                    bytes),
      SizeAnswer::ask_as_user);
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

// Objects that only somebody with a token may see. A token server that is in trouble for a while must not make files of
// unknown size of them, for good.
class SizesWithToken : public testing::Test {
 protected:
  SizesWithToken() {
    storage_.post("/__config", R"({"token":"*","objects":{"b/one":1,"b/two":2}})");
    google_.post("/__config", R"({"users":{"refresh":{"client_id":"id","client_secret":"secret"}}})");
    spill(
        dir_ / "login.json",
        R"({"type":"authorized_user","client_id":"id","client_secret":"secret","refresh_token":"refresh","token_uri":")" +
            google_.url("/token") + "\"}");
    settings_.base_url = *gcs_base_url(storage_.url());
    settings_.auth.credentials_file = dir_ / "login.json";
    settings_.first_wait_ms = 1;
    settings_.last_wait_ms = 4;
  }
  SizeCounts look() {
    SizeCounts counts;
    SizeLookup lookup(settings_);
    sizes_ = lookup.sizes({"gs://b/one", "gs://b/two", "gs://b/none"}, counts);
    return counts;
  }
  std::string requests() { return storage_.log(); }

  TempDir dir_;
  DoubleServer storage_{"cromwell_double.py"}, google_{"bigquery_double.py"};
  SizeSettings settings_;
  std::vector<std::optional<int64_t>> sizes_;
};

TEST_F(SizesWithToken, APassingFailureOfTheTokenServerPasses) {
  google_.faults(R"([{"match":{"path":"/token","to":3},"action":{"status":503,"body":""}}])");
  const SizeCounts counts = look();
  EXPECT_EQ(counts.failed, 0u);
  EXPECT_EQ(counts.unknown, 1u);
  EXPECT_EQ(sizes_, (std::vector<std::optional<int64_t>>{1, 2, std::nullopt}));
}

TEST_F(SizesWithToken, OneThatStaysInTroubleIsAFailureAndNotAnUnknownSize) {
  for (const char* const how :
       {R"({"status":503,"body":""})", R"({"reset":"answer"})", R"({"status":200,"body":"<html>"})",
        R"({"status":401,"body":"{}"})"}) {  // the last one: refused
    google_.fault(R"({"path":"/token"})", how);
    const SizeCounts counts = look();
    EXPECT_EQ(counts.failed, 3u) << how;
    EXPECT_EQ(counts.unknown, 0u) << how;
    EXPECT_EQ(requests(), "[]") << "nobody is asked as a stranger: " << how;
  }
}

TEST_F(SizesWithToken, ABucketThatHangsOneCallerHangsNoOther) {
  storage_.fault(R"({"path":".*/b/hangs/.*"})", R"({"delay_s":1.5})");
  settings_.callers = 2;
  SizeLookup lookup(settings_);
  std::atomic<bool> over = false;
  SizeCounts its_counts, counts;
  std::thread other([&] {
    lookup.sizes({"gs://hangs/a", "gs://b/one"}, its_counts);
    over = true;
  });
  while (storage_.log().find("/b/b/o/one") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(lookup.sizes({"gs://b/two"}, counts)[0], 2);
  EXPECT_FALSE(over);
  // What is being asked for is not asked for again, but waited for.
  EXPECT_EQ(lookup.sizes({"gs://b/one", "gs://hangs/a"}, counts)[0], 1);
  other.join();
  EXPECT_EQ(lookup.requests(), 3u);
  EXPECT_EQ(counts.unknown, 1u);
}

TEST_F(SizesWithToken, ATokenThatIsRefusedTwiceSaysNothingAboutTheFile) {
  storage_.fault(R"({"path":"/storage/.*"})", R"({"status":401,"body":""})");
  const SizeCounts counts = look();
  EXPECT_EQ(counts.failed, 3u);
  EXPECT_EQ(counts.unknown, 0u);
}

constexpr int64_t kNow = 1'790'000'000'000'000'000;  // 2026-09-21

MetadataRow some_row(const char* workflow) {
  MetadataRow row;
  row.workflow_id = workflow;
  row.task_call_name = "align";
  row.attempt = 1;
  row.execution_status = "Done";
  row.start_ns = kNow;
  return row;
}

TEST(Existing, AsksOnceForAllWorkflows) {
  Expected expected;
  EXPECT_EQ(expected.count_sql("p.d.t"), "");
  expected.add(some_row("w-1"));
  const std::string sql = expected.count_sql("p.d.t");
  EXPECT_TRUE(sql.starts_with("SELECT COUNT(DISTINCT SUBSTR(TO_HEX(SHA256(CONCAT(workflow_id, '\\n', task_call_name, "))
      << sql;
  EXPECT_TRUE(
      sql.ends_with(" FROM `p.d.t` WHERE workflow_id = 'w-1' AND start_time >= TIMESTAMP('2026-09-21') AND "
                    "start_time < TIMESTAMP('2026-09-22') AND execution_status = 'Done'"))
      << sql;
  expected.add(some_row("w-2"));
  EXPECT_NE(expected.count_sql("p.d.t").find("workflow_id IN ('w-1', 'w-2')"), std::string::npos);
  EXPECT_EQ(expected.keys().size(), 2u);
  MetadataRow row = some_row("w' OR 1=1 --");
  expected.add(row);
  EXPECT_EQ(expected.count_sql("p.d.t"), "");  // nothing that needs escaping is asked for
}

TEST(Existing, ARowThatIsThereTwiceCountsOnce) {
  Expected expected;
  for (int i = 0; i < 3; ++i) expected.add(some_row("w-1"));
  EXPECT_EQ(expected.keys().size(), 1u);
  MetadataRow row = some_row("w-1");
  row.attempt = 2;
  expected.add(row);
  row.shard = 7;
  expected.add(row);
  row.task_call_name = "sort";
  expected.add(row);
  row.execution_status = "Failed";
  expected.add(row);
  EXPECT_EQ(expected.keys().size(), 5u);
}

// Whatever stands in the file beside them, and wherever a line ends in what is read at once.
TEST(Existing, RowsThatStandInAFile) {
  const std::string path = ::testing::TempDir() + "written.ndjson";
  const std::string row = R"({"project_id":"p","workflow_id":"w-1","inputs":[{"key":"a","value":")" +
                          std::string(70'000, 'x') +
                          R"("}],"task_call_name":"align","shard":-1,"attempt":1,"execution_status":"Done","more":{}})";
  const uint64_t key = row_key(KeyParts{"w-1", "align", "-1", "1", "Done"});
  std::vector<uint64_t> wanted{1, key, 2};
  std::sort(wanted.begin(), wanted.end());
  EXPECT_TRUE(rows_in_file(path + ".none", wanted).empty());
  EXPECT_TRUE(rows_in_file("-", wanted).empty());
  for (size_t before = 0; before < 140'000; before += 6'999)
    for (const char* end : {"\n", "", "\n\n{", "\n[1]\n"}) {
      std::ofstream(path) << std::string(before, '{') << "\n{}\n" << row << end;
      EXPECT_EQ(rows_in_file(path, wanted), std::vector<uint64_t>{key}) << before << end;
    }
  std::ofstream(path) << row.substr(0, row.size() - 60) << "\n";
  EXPECT_TRUE(rows_in_file(path, wanted).empty()) << "half a row is none";
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(rows_in_file(path, wanted).empty()) << "a pipe is not waited for";
  std::filesystem::remove(path);
}

// Against sha256sum: what BigQuery computes of the same columns.
TEST(Existing, KeysAreWhatTheQueryMakesOfTheColumns) {
  MetadataRow row = some_row("w-1");
  row.shard = -1;
  EXPECT_EQ(row_key(row), 0x434323ec2ab9adc9u);
}

}  // namespace
}  // namespace tacho
