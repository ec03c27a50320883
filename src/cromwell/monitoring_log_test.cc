#include "cromwell/monitoring_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "os/file.h"

namespace tacho {
namespace {

const std::string kFolder = TACHO_FIXTURES "/cromwell/logs/align/5d96fd3c-1a89-40ae-8095-c364181cda46/";

std::vector<LogSample> read(const std::string& text, uint64_t* bad = nullptr) {
  std::vector<LogSample> samples;
  MonitoringLog log([&](const LogSample& sample) { samples.push_back(sample); });
  for (const std::string_view line : split(text, '\n')) log.line(line);
  log.finish();
  if (bad != nullptr) *bad = log.bad_lines();
  return samples;
}

TEST(MonitoringLog, Blocks) {
  uint64_t bad = 0;
  const auto samples = read(*read_whole_file(kFolder + "call-bwa/shard-3/attempt-2/monitoring.log"), &bad);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_DOUBLE_EQ(*samples[0].cpu, 2.0);
  EXPECT_DOUBLE_EQ(*samples[0].memory, 1.5);
  EXPECT_DOUBLE_EQ(*samples[0].disk, 5.0);
  EXPECT_EQ(samples[0].time_ns, 1538388000'000'000'000);
  EXPECT_FALSE(samples[1].cpu);     // zero
  EXPECT_FALSE(samples[1].memory);  // unreadable
  EXPECT_EQ(samples[1].time_ns, 1538388010'000'000'000);
  EXPECT_EQ(bad, 1u);  // the date
}

TEST(MonitoringLog, OneLineRecords) {
  uint64_t bad = 0;
  const auto samples = read(*read_whole_file(kFolder + "call-sort/monitoring.log"), &bad);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_DOUBLE_EQ(*samples[0].cpu, 2.0);
  EXPECT_DOUBLE_EQ(*samples[0].memory, 15.36);  // half of 30720M
  EXPECT_DOUBLE_EQ(*samples[0].disk, 1.5);
  EXPECT_FALSE(samples[1].memory);
  EXPECT_DOUBLE_EQ(*samples[1].disk, 0.5);
  EXPECT_EQ(bad, 0u);
}

TEST(MonitoringLog, NeedsTotalsForShares) {
  const auto samples = read("--- Runtime Information ---\n50 50 2G Mon Oct 1 10:00:00 UTC 2018\nnoise\n");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_FALSE(samples[0].cpu);
  EXPECT_FALSE(samples[0].memory);
  EXPECT_DOUBLE_EQ(*samples[0].disk, 2.0);
}

TEST(MonitoringLog, Dates) {
  EXPECT_EQ(parse_date_output("Thu Jan  1 00:00:01 UTC 1970"), 1'000'000'000);
  EXPECT_EQ(parse_date_output("Thu Jan 1 00:00:01 UTC 1970"), 1'000'000'000);
  EXPECT_EQ(parse_date_output("Thu Jan 01 00:00:01 UTC 1970"), 1'000'000'000);
  for (const char* text : {"", "Thu Jan 1 00:00:01 CET 1970", "Thu Jan 32 00:00:01 UTC 1970",
                           "Thu Foo 1 00:00:01 UTC 1970", "Thu Jan 1 24:00:01 UTC 1970", "Thu Jan 1 00:00 UTC 1970",
                           "Xxx Jan 1 00:00:00 UTC 1970", "Sat Feb 30 00:00:00 UTC 2019"})
    EXPECT_FALSE(parse_date_output(text)) << text;
}

TEST(MonitoringLog, Paths) {
  const std::string id = "5d96fd3c-1a89-40ae-8095-c364181cda46";
  const auto plain = parse_log_path("gs://bucket/x/wf/" + id + "/call-task/monitoring.log");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->workflow_name + "|" + plain->workflow_id + "|" + plain->call, "wf|" + id + "|task");
  EXPECT_EQ(plain->shard, -1);
  EXPECT_EQ(plain->attempt, 1);
  const auto full = parse_log_path("wf/" + id + "/call-a-b/shard-12/cacheCopy/attempt-3/monitoring.log");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->call, "a-b");
  EXPECT_EQ(full->shard, 12);
  EXPECT_EQ(full->attempt, 3);
  // A sub-workflow's call is the inner one.
  const auto inner = parse_log_path("outer/" + id + "/call-sub/inner/" + id + "/call-t/monitoring.log");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->workflow_name + inner->call, "innert");
  for (const char* path : {"monitoring.log", "", "/a/b/c/monitoring.log", "wf/no-id/call-x/monitoring.log"})
    EXPECT_FALSE(parse_log_path(path)) << path;
}

}  // namespace
}  // namespace tacho
