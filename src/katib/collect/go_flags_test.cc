#include "katib/collect/go_flags.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

constexpr GoFlag kKnown[] = {{"t"}, {"s-db"}, {"w"}, {"tls", true}};

TEST(GoFlags, FourForms) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-s-db", "a:1"}, {"-s-db=a:1"}, {"--s-db", "a:1"}, {"--s-db=a:1"}}) {
    const auto flags = parse_go_flags(words, kKnown);
    ASSERT_TRUE(flags);
    ASSERT_EQ(flags->flags.size(), 1u);
    EXPECT_EQ(flags->flags[0].name, "s-db");
    EXPECT_EQ(flags->flags[0].value, "a:1");
  }
}

TEST(GoFlags, ValuesThatLookLikeFlags) {
  const std::vector<std::string> words{"-t", "-x", "--s-db=a=b", "-t="};
  const auto flags = parse_go_flags(words, kKnown);
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->flags[0].value, "-x");
  EXPECT_EQ(flags->flags[1].value, "a=b");
  EXPECT_EQ(flags->flags[2].value, "");
}

TEST(GoFlags, SwitchesMayStandAlone) {
  const std::vector<std::string> words{"--tls", "-t", "x", "--tls", "false", "-tls=1", "-tls"};
  const auto flags = parse_go_flags(words, kKnown);
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->flags[0].value, "true");
  EXPECT_EQ(flags->flags[2].value, "false");
  EXPECT_EQ(flags->flags[3].value, "1");
  EXPECT_EQ(flags->flags[4].value, "true");
}

TEST(GoFlags, EndAndHelp) {
  const std::vector<std::string> words{"-t", "a", "--", "-nonsense"};
  EXPECT_EQ(parse_go_flags(words, kKnown)->flags.size(), 1u);
  const std::vector<std::string> help{"-help"};
  EXPECT_TRUE(parse_go_flags(help, kKnown)->help);
}

TEST(GoFlags, Faults) {
  for (const char* word : {"-nonsense", "---t", "-=x", "--=", "stray", "-", "-t"}) {
    const std::vector<std::string> words{word};
    EXPECT_FALSE(parse_go_flags(words, kKnown)) << word;
  }
  const std::vector<std::string> near{"-s-bd", "x"};
  EXPECT_NE(parse_go_flags(near, kKnown).error().hint.find("-s-db"), std::string::npos);
}

TEST(GoDuration, Syntax) {
  EXPECT_EQ(parse_go_duration_ns("300ms"), 300'000'000);
  EXPECT_EQ(parse_go_duration_ns("1.5h"), int64_t{5400} * 1'000'000'000);
  EXPECT_EQ(parse_go_duration_ns("2m30s"), int64_t{150} * 1'000'000'000);
  EXPECT_EQ(parse_go_duration_ns("-5s"), -5'000'000'000);
  EXPECT_EQ(parse_go_duration_ns("+5s"), 5'000'000'000);
  EXPECT_EQ(parse_go_duration_ns("0"), 0);
  EXPECT_EQ(parse_go_duration_ns("7"), 7'000'000'000);  // the event collector's whole seconds
  EXPECT_EQ(parse_go_duration_ns("10us"), 10'000);
  EXPECT_EQ(parse_go_duration_ns("10\u00b5s"), 10'000);
  EXPECT_EQ(parse_go_duration_ns("10\u03bcs"), 10'000);
  EXPECT_EQ(parse_go_duration_ns("5ns"), 5);
  EXPECT_EQ(parse_go_duration_ns(".5s"), 500'000'000);
  EXPECT_EQ(parse_go_duration_ns("2.s"), 2'000'000'000);
  for (const char* bad : {"", "-", "s", "1.5", "5 s", "1h-5m", "--5s", "5d", "1e3s", "1..5s", "9999999999h", "5s "})
    EXPECT_FALSE(parse_go_duration_ns(bad)) << bad;
}

TEST(GoBool, AnythingElseIsFalse) {
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"}) EXPECT_TRUE(parse_go_bool(yes));
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False", "yes", "tRUE", "", "on"})
    EXPECT_FALSE(parse_go_bool(no));
}

}  // namespace
}  // namespace tacho
