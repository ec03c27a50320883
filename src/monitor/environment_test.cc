#include "monitor/environment.h"

#include <gtest/gtest.h>

#include <map>

#include "base/log.h"
#include "base/units.h"

namespace tacho {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

Result<MonitorSettings> settings_of(const Texts& variables, const Texts& flags = {}) {
  const auto look_up = [](const Texts& texts) {
    return [&texts](std::string_view name) -> std::optional<std::string> {
      const auto found = texts.find(name);
      if (found == texts.end()) return std::nullopt;
      return found->second;
    };
  };
  return monitor_settings({look_up(flags), look_up(variables), false, false});
}

MonitorSettings good(const Texts& variables, const Texts& flags = {}) {
  const auto settings = settings_of(variables, flags);
  EXPECT_TRUE(settings);
  return settings ? *settings : MonitorSettings{};
}

TEST(MonitorEnvironment, DefaultsWithoutAnyVariable) {
  const MonitorSettings settings = good({});
  EXPECT_EQ(settings.measure_interval_ns, kNsPerSec);
  EXPECT_FALSE(settings.report_interval_ns);
  EXPECT_EQ(settings.bigquery.dataset, "");
  EXPECT_EQ(settings.bigquery.metrics_table, "metrics");
  EXPECT_EQ(settings.bigquery.runtime_table, "runtime");
  EXPECT_FALSE(settings.task.workflow_id || settings.task.task_call_name || settings.task.shard ||
               settings.task.attempt);
  EXPECT_FALSE(settings.given.instance_id || settings.given.instance_name || settings.given.preemptible ||
               settings.given.project_id);
  EXPECT_TRUE(settings.disk_mounts.empty());
  EXPECT_EQ(settings.form, MonitorForm::local);
}

TEST(MonitorEnvironment, TakesWhatCromwellSets) {
  const MonitorSettings settings = good({{"WORKFLOW_ID", "0a-1b"},
                                         {"TASK_CALL_NAME", "align-reads.v2"},
                                         {"TASK_CALL_INDEX", "NA"},
                                         {"TASK_CALL_ATTEMPT", "2"},
                                         {"DISK_MOUNTS", "/mnt/disks/cromwell_root"},
                                         {"DATASET_ID", "d"},
                                         {"INSTANCE_ID", "-9223372036854775808"},
                                         {"PREEMPTIBLE", "TRUE"},
                                         {"PROJECT_ID", "p"},
                                         {"REPORT_INTERVAL_MS", "5000"},
                                         {"MEASURE_INTERVAL_MS", "250"}});
  EXPECT_EQ(settings.task.workflow_id, "0a-1b");
  EXPECT_EQ(settings.task.task_call_name, "align-reads.v2");
  EXPECT_EQ(settings.task.shard, -1);
  EXPECT_EQ(settings.task.attempt, 2);
  EXPECT_EQ(settings.given.instance_id, INT64_MIN);
  EXPECT_EQ(settings.given.preemptible, true);
  EXPECT_EQ(settings.given.project_id, "p");
  EXPECT_EQ(settings.report_interval_ns, 5 * kNsPerSec);
  EXPECT_EQ(settings.measure_interval_ns, 250 * kNsPerMs);
  EXPECT_EQ(settings.form, MonitorForm::image);
}

// A task is measured whatever its environment says: one warning, and the value counts as not given.
TEST(MonitorEnvironment, WhatMakesNoSenseIsAWarning) {
  for (const auto& [name, text] : Texts{{"INSTANCE_ID", "12x"},
                                        {"INSTANCE_ID ", ""},
                                        {"PREEMPTIBLE", "yes"},
                                        {"TASK_CALL_INDEX", "one"},
                                        {"TASK_CALL_ATTEMPT", "1.5"},
                                        {"MEASURE_INTERVAL_MS", "0"},
                                        {"MEASURE_INTERVAL_MS ", "-5"},
                                        {"MEASURE_INTERVAL_MS  ", ""},
                                        {"REPORT_INTERVAL_MS", "0"},
                                        {"REPORT_INTERVAL_MS ", "soon"},
                                        {"TASK_CALL_ATTEMPT ", "99999999999999999999"}}) {
    const uint64_t before = log::warnings();
    const std::string variable = name.substr(0, name.find(' '));  // blanks tell the rows of this table apart
    const MonitorSettings settings = good({{variable, text}});
    EXPECT_EQ(log::warnings(), before + 1) << variable << "=" << text;
    EXPECT_FALSE(settings.given.instance_id || settings.given.preemptible || settings.task.shard ||
                 settings.task.attempt);
    EXPECT_EQ(settings.measure_interval_ns, kNsPerSec);
    EXPECT_FALSE(settings.report_interval_ns);
  }
}

TEST(MonitorEnvironment, AnEmptyTextCountsAsSet) {
  const MonitorSettings settings = good({{"ZONE", ""}, {"WORKFLOW_ID", ""}});
  EXPECT_EQ(settings.given.zone, "");
  EXPECT_EQ(settings.task.workflow_id, "");
  EXPECT_FALSE(settings.given.instance_name);
}

TEST(MonitorEnvironment, FlagsWinAndMustBeRight) {
  EXPECT_EQ(good({{"TASK_CALL_INDEX", "3"}}, {{"task-call-index", "7"}}).task.shard, 7);
  EXPECT_EQ(good({{"TASK_CALL_INDEX", "what"}}, {{"task-call-index", "NA"}}).task.shard, -1);
  for (const auto& [name, text] : Texts{{"task-call-index", "x"},
                                        {"measure-interval-ms", "0"},
                                        {"preemptible", "maybe"},
                                        {"form", "pod"},
                                        {"dataset", "a.b"},
                                        {"bq-create", "always"}})
    EXPECT_FALSE(settings_of({{"DATASET_ID", "d"}}, {{name, text}})) << name;
}

TEST(MonitorEnvironment, ABigQueryFlagNeedsADataset) {
  for (const char* flag :
       {"bq-endpoint", "bq-location", "bq-add-columns", "bq-create", "metrics-table", "project", "credentials"}) {
    const std::string value = std::string_view(flag) == "bq-create" ? "never" : "1";
    const auto settings = settings_of({}, {{flag, value}});
    ASSERT_FALSE(settings) << flag;
    EXPECT_NE(settings.error().message().find("DATASET_ID"), std::string::npos);
    EXPECT_TRUE(settings_of({{"DATASET_ID", "d"}}, {{flag, value}})) << flag;
  }
  EXPECT_TRUE(settings_of({{"BIGQUERY_EMULATOR_HOST", "localhost:1"}})) << "a variable is no reason to refuse";
}

TEST(MonitorEnvironment, ABadDatasetInTheEnvironmentTurnsSendingOff) {
  EXPECT_EQ(good({{"DATASET_ID", "my-project:data set"}}).bigquery.dataset, "");
  EXPECT_EQ(good({{"DATASET_ID", "d"}, {"METRICS_TABLE_ID", "a/b"}}).bigquery.metrics_table, "metrics");
  EXPECT_EQ(good({{"DATASET_ID", "d"}, {"RUNTIME_TABLE_ID", "my-runtime"}}).bigquery.runtime_table, "my-runtime");
}

TEST(MonitorEnvironment, Preemptible) {
  for (const char* word : {"1", "t", "T", "TRUE", "true", "True"}) EXPECT_EQ(parse_preemptible(word), true) << word;
  for (const char* word : {"0", "f", "F", "FALSE", "false", "False"}) EXPECT_EQ(parse_preemptible(word), false) << word;
  for (const char* word : {"", " 1", "yes", "tRUE", "2"}) EXPECT_EQ(parse_preemptible(word), std::nullopt) << word;
}

TEST(MonitorEnvironment, DiskMounts) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_mounts(""), Words{});
  EXPECT_EQ(split_mounts(" \t\n "), Words{});
  EXPECT_EQ(split_mounts("  /a   /b/c\t/d "), (Words{"/a", "/b/c", "/d"}));
  EXPECT_EQ(split_mounts("\"/my disk\" '/x y' /z"), (Words{"/my disk", "/x y", "/z"}));
  EXPECT_EQ(split_mounts("\"/a /b"), (Words{"\"/a", "/b"})) << "a quote without its end is a letter";
  EXPECT_EQ(split_mounts("'' /a"), Words{"/a"});
}

TEST(MonitorEnvironment, TheFormIsFoundOrSaid) {
  EXPECT_EQ(good({{"TACHO_MONITOR_FORM", "script"}, {"WORKFLOW_ID", "x"}}).form, MonitorForm::script);
  EXPECT_EQ(good({{"TACHO_MONITOR_FORM", "pod"}}).form, MonitorForm::local);
  const auto none = [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
  EXPECT_EQ(monitor_settings({none, none, true, false})->form, MonitorForm::script);
  EXPECT_EQ(monitor_settings({none, none, false, true})->form, MonitorForm::script);
}

}  // namespace
}  // namespace tacho
