#include "cli/options.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/setters.h"

namespace tacho {
namespace {

TEST(Options, NamesAndLettersAreUniqueWithinASubcommand) {
  for (unsigned bit = 1; bit < kEvery; bit <<= 1) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const Option& option : all_options()) {
      if ((option.subcommands & bit) == 0) continue;
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      EXPECT_TRUE(option.short_name == 0 || letters.insert(option.short_name).second) << option.short_name;
    }
  }
}

TEST(Options, EachHasAStoreOrIsReadElsewhere) {
  const std::set<std::string_view> elsewhere{
      "config",       "json",    "help",    "version", "folder", "once",   "servers",    "vendor", "region",
      "architecture",  // values.cc
      "markdown",     "fail-if", "job",     "since",   "failed", "limit",  "path",       "open",   "older",
      "keep",         "yes",     "dry-run", "for",     "prices", "title",  "max-points", "cost",   "end",
      "point",        "job-id",  "flat",    "csv",     "jsonl",  "schema", "no-cache"};
  for (const Option& option : all_options())
    if (option.subcommands != kMonitor) {
      EXPECT_NE(find_setter(option.name) != nullptr, elsewhere.contains(option.name)) << option.name;
    }
}

TEST(Options, VariablesAndKeysAreUnique) {
  std::set<std::string_view> variables, keys;
  for (const Option& option : all_options()) {
    for (const std::string_view name : {option.tacho_env, option.tracker_env})
      EXPECT_TRUE(name.empty() || variables.insert(name).second) << name;
    EXPECT_TRUE(option.key.empty() || keys.insert(option.key).second) << option.key;
  }
}

TEST(Options, HelpIsASentence) {
  for (const Option& option : all_options()) {
    EXPECT_TRUE(option.help.ends_with('.')) << option.name;
    EXPECT_TRUE(option.help[0] >= 'A' && option.help[0] <= 'Z') << option.name;
    EXPECT_EQ(option.kind == Kind::flag, option.metavar.empty()) << option.name;
  }
}

// The table of the contract, row by row.
struct Row {
  std::string_view name;
  char short_name;
  std::string_view tacho_env, tracker_env, default_text;
};
class ContractRow : public testing::TestWithParam<Row> {};

TEST_P(ContractRow, IsInTheTable) {
  const Row& row = GetParam();
  for (const Subcommand subcommand : {kRun, kAttach, kWatch, kTracker}) {
    const Option* option = find_option(row.name, subcommand);
    ASSERT_NE(option, nullptr) << row.name;
    EXPECT_EQ(option->short_name, row.short_name);
    EXPECT_EQ(option->tacho_env, row.tacho_env);
    EXPECT_EQ(option->tracker_env, row.tracker_env);
    EXPECT_TRUE(row.default_text.empty() || option->default_text == row.default_text) << option->default_text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ContractRow,
    testing::Values(Row{"interval", 'i', "TACHO_INTERVAL", "TRACKER_INTERVAL", "1s"},
                    Row{"output", 'o', "TACHO_OUTPUT", "TRACKER_OUTPUT", ""}, Row{"format", 'f', "", "", ""},
                    Row{"store", 0, "TACHO_STORE", "", "$XDG_STATE_HOME/tacho/runs"}, Row{"no-store", 0, "", "", ""},
                    Row{"quiet", 'q', "TACHO_QUIET", "TRACKER_QUIET", ""}, Row{"summary", 0, "", "", "line"},
                    Row{"probe", 0, "", "", ""}, Row{"no-probe", 0, "", "", ""}, Row{"pss", 0, "", "", "auto"},
                    Row{"hide", 0, "TACHO_HIDE", "", ""}, Row{"no-cloud", 0, "TACHO_NO_CLOUD", "", ""},
                    Row{"timeout", 0, "", "", ""}, Row{"kill-after", 0, "", "", "10s"}, Row{"strict", 0, "", "", ""},
                    Row{"job-name", 'n', "TACHO_JOB_NAME", "TRACKER_JOB_NAME", ""},
                    Row{"project-name", 0, "TACHO_PROJECT_NAME", "TRACKER_PROJECT_NAME", ""},
                    Row{"stage-name", 0, "TACHO_STAGE_NAME", "TRACKER_STAGE_NAME", ""},
                    Row{"task-name", 0, "TACHO_TASK_NAME", "TRACKER_TASK_NAME", ""},
                    Row{"team", 0, "TACHO_TEAM", "TRACKER_TEAM", ""}, Row{"env", 0, "TACHO_ENV", "TRACKER_ENV", ""},
                    Row{"language", 0, "TACHO_LANGUAGE", "TRACKER_LANGUAGE", ""},
                    Row{"orchestrator", 0, "TACHO_ORCHESTRATOR", "TRACKER_ORCHESTRATOR", ""},
                    Row{"executor", 0, "TACHO_EXECUTOR", "TRACKER_EXECUTOR", ""},
                    Row{"external-run-id", 0, "TACHO_EXTERNAL_RUN_ID", "TRACKER_EXTERNAL_RUN_ID", ""},
                    Row{"container-image", 0, "TACHO_CONTAINER_IMAGE", "TRACKER_CONTAINER_IMAGE", ""},
                    Row{"tag", 0, "TACHO_TAGS", "", ""}, Row{"config", 'c', "TACHO_CONFIG", "", ""},
                    Row{"verbose", 'v', "", "", ""}, Row{"color", 0, "NO_COLOR", "CLICOLOR_FORCE", "auto"},
                    Row{"progress", 0, "", "", "auto"}, Row{"method", 0, "TACHO_METHOD", "", "auto"},
                    Row{"help", 'h', "", "", ""}, Row{"version", 'V', "", "", ""}));

TEST(Options, PidIsForRunAttachAndTheOlderTool) {
  EXPECT_NE(find_option("pid", kRun), nullptr);
  EXPECT_NE(find_option("pid", kAttach), nullptr);
  EXPECT_NE(find_option("pid", kTracker), nullptr);
  EXPECT_EQ(find_option("pid", kWatch), nullptr);
  EXPECT_EQ(find_option("cgroup", kRun), nullptr);
  EXPECT_NE(find_option("cgroup", kAttach), nullptr);
}

TEST(Options, EverySubcommandThatPrintsDataHasJson) {
  for (const Subcommand subcommand : {kRuns, kShow, kList, kDoctor})
    EXPECT_NE(find_option("json", subcommand), nullptr);
}

}  // namespace
}  // namespace tacho
