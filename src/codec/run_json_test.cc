#include "codec/run_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "codec/run_json_parts.h"
#include "support/sample_run.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

Summary two_rows() {
  Summary summary;
  summary.begin(sample_schema());
  summary.add(sample_row(0, 1.0, kAbsent));
  summary.add(sample_row(1, 3.0, kAbsent));
  return summary;
}

std::string text_of(const Run& run, const Summary& summary) {
  Writer out;
  write_run_json(out, run, summary);
  return std::string(out.view());
}

TEST(RunJson, TheLivePageIsOnePageAndCanBeOverwritten) {
  const auto run = sample_run();
  Summary summary = two_rows();
  Writer out;
  const size_t offset = write_live_run_json(out, run, summary);
  std::string text(out.view());
  EXPECT_EQ(offset % kLivePageBytes, 0u);
  ASSERT_EQ(text.size(), offset + kLivePageBytes);
  EXPECT_EQ(Json::parse(text)["samples"], 2);
  EXPECT_EQ(Json::parse(text)["id"], run.id);
  summary.add(sample_row(2, 5.0, kAbsent));
  Writer page;
  EXPECT_TRUE(write_live_pages(page, run, summary));
  ASSERT_EQ(page.view().size(), kLivePageBytes);
  text.replace(offset, kLivePageBytes, page.view());
  EXPECT_EQ(Json::parse(text)["samples"], 3);
}

// Many columns take several pages; tacho may be killed between any two of them.
TEST(RunJson, LivePagesOfTwoRowsMakeOneText) {
  Schema schema{kTimestampColumn};
  std::vector<std::string> names;
  for (int i = 0; i < 150; ++i) names.push_back("process_some_column_" + std::to_string(i));
  for (const std::string& name : names) {
    Column column = sample_schema()[1];
    column.name = name;
    column.rule = schema.size() % 3 == 0 ? Rule::delta : Rule::level;
    schema.push_back(column);
  }
  Summary summary;
  summary.begin(schema);
  const auto pages_after = [&](double value) {
    Row row;
    row.interval_ns = 1'000'000'000;
    row.cells.assign(schema.size(), value);
    summary.add(row);
    Writer out;
    EXPECT_TRUE(write_live_pages(out, sample_run(), summary));
    return std::string(out.view());
  };
  const std::string few = pages_after(1), many = pages_after(987654321);
  ASSERT_EQ(few.size(), many.size());
  const size_t pages = few.size() / kLivePageBytes;
  ASSERT_GE(pages, 3u);
  for (size_t mask = 0; mask < size_t{1} << pages; ++mask) {
    std::string text = "{";
    for (size_t i = 0; i < pages; ++i)
      text += ((mask >> i & 1) != 0 ? few : many).substr(i * kLivePageBytes, kLivePageBytes);
    EXPECT_EQ(Json::parse(text)["statistics"].size(), schema.size()) << mask;
  }
  auto talkative = sample_run();
  talkative.notes = {std::string(kLivePageBytes, 'x')};
  Writer out;
  EXPECT_FALSE(write_live_pages(out, talkative, summary));
  EXPECT_EQ(out.view().size(), few.size() + kLivePageBytes);
}

TEST(RunJson, KeysComeInAFixedOrder) {
  const Json json = Json::parse(text_of(sample_run(), two_rows()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "id",      "tacho_version", "mode",          "state",     "command", "working_directory",
                      "pid",     "tracker_pid",   "metadata",      "host",      "limits",  "interval_s",
                      "columns", "outcome",       "samples",       "method",    "totals",  "energy",
                      "notes",   "phases",        "marks_dropped", "statistics"}));
  EXPECT_EQ(json["command"], (Json{"python3", "train.py", "--epochs", "3"}));
  EXPECT_EQ(json["metadata"].dump(), R"({"job_name":"train","team":"vision","tags":["b=2","a=1"]})");
  EXPECT_EQ(json["host"].dump(),
            R"({"host_hostname":"node7","host_ip":"10.0.0.7","host_vcpus":8,"host_memory_mib":32768})");
  EXPECT_EQ(json["samples"], 2);
  EXPECT_EQ(json["interval_s"], 1.0);
  EXPECT_EQ(json["columns"].size(), sample_schema().size());
}

TEST(RunJson, WhileRunningTheOutcomeIsOpen) {
  const Json outcome = Json::parse(text_of(sample_run(), two_rows()))["outcome"];
  EXPECT_EQ(
      outcome.dump(),
      R"({"state":"running","exit_code":null,"signal":null,"signal_name":null,"oom_killed":null,"timed_out":false,)"
      R"("started_at":"2026-11-15T09:30:00.250Z","finished_at":null,"duration_s":2.0})");
}

TEST(RunJson, OutcomeOfAKilledJob) {
  auto run = sample_run();
  run.outcome.state = RunState::failed;
  run.outcome.exit_code = 137;
  run.outcome.signal = 9;
  run.outcome.oom_killed = true;
  run.outcome.finished_realtime_ns = kSampleStartNs + 12'500'000'000;
  run.outcome.duration_ns = 12'500'000'000;
  const Json json = Json::parse(text_of(run, two_rows()));
  EXPECT_EQ(json["state"], "failed");
  EXPECT_EQ(
      json["outcome"].dump(),
      R"({"state":"failed","exit_code":137,"signal":9,"signal_name":"SIGKILL","oom_killed":true,"timed_out":false,)"
      R"("started_at":"2026-11-15T09:30:00.250Z","finished_at":"2026-11-15T09:30:12.750Z","duration_s":12.5})");
}

TEST(RunJson, WhetherOthersUsedTheMachineIsGuessedAtTheEnd) {
  Schema schema;
  for (const char* const name : {"timestamp", "system_cpu_usage", "process_cpu_usage"}) {
    schema.push_back({});
    schema.back().name = name;
  }
  const auto guess_of = [&](RunState state, double machine, std::vector<std::string> hidden) {
    Summary summary;
    summary.begin(schema);
    Row row;
    row.interval_ns = 1'000'000'000;
    row.cells = {1.0, machine, 1.0};
    summary.add(row);
    auto run = sample_run();
    run.outcome.state = state;
    run.hidden = std::move(hidden);
    return Json::parse(text_of(run, summary)).value("allocation", "");
  };
  EXPECT_EQ(guess_of(RunState::finished, 1.1, {}), "dedicated");
  EXPECT_EQ(guess_of(RunState::failed, 2, {}), "shared");
  EXPECT_EQ(guess_of(RunState::running, 2, {}), "");
  EXPECT_EQ(guess_of(RunState::finished, 2, {"host_server_allocation"}), "");
  EXPECT_EQ(guess_of(RunState::finished, kAbsent, {}), "");
}

TEST(RunJson, StatisticsOfColumnsThatHadAValue) {
  const Json statistics = Json::parse(text_of(sample_run(), two_rows()))["statistics"];
  EXPECT_EQ(statistics["timestamp"].dump(), R"({"duration":2.0})");
  EXPECT_EQ(statistics["process_cpu_usage"].dump(), R"({"mean":2.0,"max":3.0,"min":1.0})");
  EXPECT_EQ(statistics["system_net_recv_bytes"].dump(), R"({"mean":1000.0,"max":1000,"min":1000,"sum":2000})");
  EXPECT_FALSE(statistics.contains("process_memory_mib"));
}

TEST(RunJson, AMeanIsBetweenItsRoundedExtremes) {
  for (const double value : {100.04, 100.06, 99.95, 0.04}) {
    Schema schema(2);
    schema[0] = kTimestampColumn;
    schema[1].name = "system_memory_used_mib";
    schema[1].decimals = 1;
    Summary summary;
    summary.begin(schema);
    Row row;
    row.interval_ns = 1'000'000'000;
    row.cells = {1.0, value};
    summary.add(row);
    const Json used = Json::parse(text_of(sample_run(), summary))["statistics"]["system_memory_used_mib"];
    EXPECT_LE(used["mean"].get<double>(), used["max"].get<double>()) << used;
    EXPECT_GE(used["mean"].get<double>(), used["min"].get<double>()) << used;
  }
}

TEST(RunJson, AHighWaterMarkAloneIsAMaximumAlone) {
  Summary summary = two_rows();
  summary.raise_max("process_memory_mib", 77.5);
  const Json statistics = Json::parse(text_of(sample_run(), summary))["statistics"];
  EXPECT_EQ(statistics["process_memory_mib"].dump(), R"({"max":77.5})");
}

TEST(RunJson, HiddenFieldsAreNowhere) {
  auto run = sample_run();
  run.hidden = {"command", "pid", "host_name", "host_ip", "job_name", "tags"};
  const std::string text = text_of(run, two_rows());
  for (const char* secret : {"train", "4001", "node7", "10.0.0.7", "b=2"})
    EXPECT_EQ(text.find(secret), std::string::npos) << secret;
  EXPECT_EQ(Json::parse(text)["metadata"].dump(), R"({"team":"vision"})");
}

TEST(RunJson, AnyBytesInAnyTextAreValidJson) {
  auto run = sample_run();
  run.command = {"a\"b\\c\nd\x01\x7f", "\xff\xfe", "caf\xc3\xa9", "\xed\xa0\x80", "cut\xe2\x82", "\xf0\x9f\x98\x80"};
  run.metadata.job_name = std::string("nul\0here", 8);
  run.notes = {"\xc0\xaf"};
  const Json json = Json::parse(text_of(run, two_rows()));
  EXPECT_EQ(json["command"][0], "a\"b\\c\nd\x01\x7f");
  EXPECT_EQ(json["command"][1], "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(json["command"][2], "caf\xc3\xa9");
  EXPECT_EQ(json["command"][4], "cut\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(json["command"][5], "\xf0\x9f\x98\x80");
  EXPECT_EQ(json["metadata"]["job_name"], std::string("nul\0here", 8));
}

// Against the plain rule: not below the smallest value nor above the largest, both as they are printed.
TEST(RunJson, AMeanLiesBetweenTheExtremesAsTheyArePrinted) {
  std::mt19937_64 random(29);
  for (int round = 0; round < 20000; ++round) {
    const int decimals = static_cast<int>(random() % 7);
    const double scale = std::pow(10, decimals);
    const auto near_step = [&] { return static_cast<double>(random() % 4000) / 1000 / scale; };
    Statistics statistics;
    statistics.min = static_cast<double>(random() % 1000) + near_step();
    statistics.max = statistics.min + (random() % 3 == 0 ? 0 : random() % 3 == 0 ? 50 : near_step());
    statistics.mean = std::clamp(statistics.min + near_step(), statistics.min, statistics.max);
    double expected = statistics.mean;
    const double low = std::round(statistics.min * scale) / scale, high = std::round(statistics.max * scale) / scale;
    if (expected < low) expected = low;
    if (expected > high) expected = high;
    ASSERT_EQ(mean_between(statistics, decimals), expected) << statistics.min << " " << statistics.max;
  }
  EXPECT_TRUE(std::isnan(mean_between(Statistics{}, 2)));
}

TEST(RunJson, NothingKnownIsStillAWholeDocument) {
  tacho::Run run;
  run.tracker_pid = 1;
  const Json json = Json::parse(text_of(run, Summary{}));
  EXPECT_EQ(json["samples"], 0);
  EXPECT_TRUE(json["statistics"].empty());
  EXPECT_TRUE(json["outcome"]["started_at"].is_null());
  EXPECT_FALSE(json.contains("command"));
  EXPECT_FALSE(json.contains("pid"));
}

}  // namespace
}  // namespace tacho
