#include "cli/config.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

std::string read(std::string_view text, ConfigRules rules = ConfigRules::strict) {
  const auto values = parse_config(text, "t.toml", rules);
  if (!values) return values.error().message();
  std::string out;
  for (const Given& one : *values) out += std::string(one.option->name) + "=" + one.value + ";";
  return out;
}

TEST(Config, EveryKeyOfTheTableIsTaken) {
  for (const Option& option : all_options()) {
    if (option.key.empty()) continue;
    const std::string value = option.kind == Kind::flag ? "true" : option.kind == Kind::integer ? "7" : "\"x\"";
    EXPECT_TRUE(read(std::string(option.key) + " = " + value).starts_with(std::string(option.name) + "="))
        << option.key;
    EXPECT_TRUE(read(std::string(option.name) + " = " + value).starts_with(std::string(option.name) + "="))
        << option.name;
  }
}

TEST(Config, Values) {
  EXPECT_EQ(read("interval = 0.25"), "interval=0.25;");
  EXPECT_EQ(read("interval = 5"), "interval=5;");
  EXPECT_EQ(read("interval = \"250ms\""), "interval=250ms;");
  EXPECT_EQ(read("interval = nan"), "interval=nan;");
  EXPECT_EQ(read("quiet = false"), "quiet=false;");
  EXPECT_EQ(read("output = [\"a.csv\", \"b,c.csv\"]"), "output=a.csv;output=b,c.csv;");
  EXPECT_EQ(read("output = \"b,c.csv\""), "output=b,c.csv;");
  EXPECT_EQ(read("hide = [\"host_ip\", \"cloud\"]"), "hide=host_ip;hide=cloud;");
  EXPECT_EQ(read("hide = \"host_ip, cloud\""), "hide=host_ip;hide=cloud;");
  EXPECT_EQ(read("progress = 5"), "progress=5;");
  EXPECT_EQ(read(""), "");
}

TEST(Config, Tags) {
  EXPECT_EQ(read("tags = [\"a=1\", \"b=2\"]"), "tag=a=1;tag=b=2;");
  EXPECT_EQ(read("tag = [\"a=1\"]"), "tag=a=1;");
  EXPECT_EQ(read("[tags]\na = \"1\"\nb = 2\nc = true\nd = 0.5"), "tag=a=1;tag=b=2;tag=c=true;tag=d=0.5;");
  EXPECT_EQ(read("[metadata]\ntags = [\"a=1\"]"), "tag=a=1;");
}

TEST(Config, Sections) {
  EXPECT_EQ(read("[metadata]\njob_name = \"x\"\nexternal-run-id = \"7\""), "external-run-id=7;job-name=x;");
  EXPECT_EQ(read("[job]\nname = \"x\"\npid = 12"), "job-name=x;pid=12;");
  EXPECT_EQ(read("[tracker]\ninterval_secs = 2"), "interval=2;");
}

TEST(Config, UnknownKeysNameFileLineAndNearest) {
  EXPECT_EQ(read("quiet = true\n\nintervall = 1"), "t.toml:3: unknown key intervall; did you mean interval?");
  EXPECT_EQ(read("[metadata]\njobname = \"x\""),
            "t.toml:2: unknown key metadata.jobname; did you mean metadata.job_name?");
  EXPECT_EQ(read("[metadata]\ninterval = 1").substr(0, 38), "t.toml:2: unknown key metadata.interva");
  EXPECT_EQ(read("[job]\npit = 1"), "t.toml:2: unknown key job.pit; did you mean job.pid?");
  EXPECT_EQ(read("[metadate]\nx = 1"), "t.toml:1: unknown key metadate; did you mean metadata?");
  EXPECT_EQ(read("config = \"x\"").substr(0, 28), "t.toml:1: unknown key config");
}

TEST(Config, WrongTypesSayWhatIsExpected) {
  EXPECT_EQ(read("\ninterval = true"),
            "t.toml:2: interval: expected a number of seconds or a string such as \"250ms\", not a boolean");
  EXPECT_EQ(read("quiet = \"yes\""), "t.toml:1: quiet: expected true or false, not a string");
  EXPECT_EQ(read("job_name = 5"), "t.toml:1: job_name: expected a string, not an integer");
  EXPECT_EQ(read("pid = \"5\""), "t.toml:1: pid: expected an integer, not a string");
  EXPECT_EQ(read("output = [1]"), "t.toml:1: output: expected a string or an array of strings, not an array");
  EXPECT_EQ(read("tags = 1"), "t.toml:1: tags: expected an array of \"key=value\" strings or a table, not an integer");
  EXPECT_EQ(read("[tags]\na = [1]").substr(0, 25), "t.toml:1: tags: expected ");
}

TEST(Config, DamagedFilesNameTheLine) {
  EXPECT_TRUE(read("quiet = true\ninterval = ").starts_with("t.toml:2: not valid TOML: "))
      << read("quiet = true\ninterval = ");
}

TEST(Config, OneOptionByTwoKeysIsAnError) {
  EXPECT_EQ(read("job_name = \"a\"\n[job]\nname = \"b\""),
            "t.toml:1: job_name: given twice (it is also at t.toml:3: job.name)");
}

TEST(Config, TheOlderToolKnowsThreeKeysAndIgnoresTheRest) {
  EXPECT_EQ(
      read(
          "quiet = true\nx = 1\n[job]\nname = \"a\"\nother = 2\n[tracker]\ninterval_secs = 3\n[metadata]\nteam = \"t\"",
          ConfigRules::tracker),
      "job-name=a;interval=3;");
}

}  // namespace
}  // namespace tacho
