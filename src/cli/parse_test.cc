#include "cli/parse.h"

#include <gtest/gtest.h>

#include "cli/concat.h"

namespace tacho {
namespace {

using Words_ = std::vector<std::string>;

Result<ParsedLine> run(Words_ arguments, unsigned subcommand = kRun) {
  return parse_arguments(arguments, subcommand, Words::command);
}

// "name=value name=value", in order.
std::string given(const Result<ParsedLine>& line) {
  std::string text;
  if (!line) return line.error().message();
  for (const Given& one : line->given) text += concat({text.empty() ? "" : " ", one.option->name, "=", one.value});
  return text;
}

TEST(Parse, DashesStartTheCommand) {
  const auto line = run({"-i", "0.5", "--", "make", "-j8", "--help"});
  EXPECT_EQ(given(line), "interval=0.5");
  EXPECT_EQ(line->words, (Words_{"make", "-j8", "--help"}));
  EXPECT_TRUE(line->dashes);
  EXPECT_FALSE(line->help);
}

TEST(Parse, TheFirstWordStartsTheCommandToo) {
  const auto line = run({"--quiet", "make", "-i", "2", "--", "x"});
  EXPECT_EQ(given(line), "quiet=true");
  EXPECT_EQ(line->words, (Words_{"make", "-i", "2", "--", "x"}));
}

TEST(Parse, ADashAloneIsAWord) { EXPECT_EQ(run({"-"})->words, (Words_{"-"})); }
TEST(Parse, AnEmptyWordIsAWord) { EXPECT_EQ(run({"-q", "", "x"})->words, (Words_{"", "x"})); }
TEST(Parse, OnlyTheFirstDashesAreTaken) { EXPECT_EQ(run({"--", "--", "x"})->words, (Words_{"--", "x"})); }

TEST(Parse, WaysToWriteAValue) {
  for (const Words_& arguments :
       {Words_{"-i0.5"}, Words_{"-i", "0.5"}, Words_{"-i=0.5"}, Words_{"--interval", "0.5"}, Words_{"--interval=0.5"}})
    EXPECT_EQ(given(run(arguments)), "interval=0.5");
  EXPECT_EQ(given(run({"-qvi0.5"})), "quiet=true verbose=true interval=0.5");
  EXPECT_EQ(given(run({"-qo", "-"})), "quiet=true output=-");
  EXPECT_EQ(given(run({"--job-name="})), "job-name=");
  EXPECT_EQ(given(run({"--tag", "a=b=c", "--tag=x=1"})), "tag=a=b=c tag=x=1");
  EXPECT_EQ(given(run({"-o", "a.csv", "-ob.csv"})), "output=a.csv output=b.csv");
  EXPECT_EQ(given(run({"-i", "-1"})), "interval=-1");
}

TEST(Parse, UnknownOptionsNameTheNearest) {
  EXPECT_EQ(given(run({"--intervall", "1"})), "unknown option --intervall; did you mean --interval?");
  EXPECT_EQ(given(run({"--intervall=1"})), "unknown option --intervall; did you mean --interval?");
  EXPECT_EQ(given(run({"--inter"})), "unknown option --inter; did you mean --interval?");
  EXPECT_EQ(given(run({"--quite"})), "unknown option --quite; did you mean --quiet?");
  EXPECT_EQ(given(run({"--job_name", "x"})), "unknown option --job_name; did you mean --job-name?");
  EXPECT_EQ(given(run({"--zzzzzzzzzzzzz"})),
            "unknown option --zzzzzzzzzzzzz (nearest: --interval; --help lists all options)");
  EXPECT_EQ(given(run({"-x"})), "unknown option -x (--help lists all options)");
  EXPECT_EQ(given(run({"-qx"})), "unknown option -x (--help lists all options)");
  EXPECT_FALSE(run({"--pid", "1"}, kWatch));
}

TEST(Parse, AMissingValueIsNotTheNextOption) {
  EXPECT_EQ(given(run({"--interval"})), "option --interval needs a value (write --interval=D)");
  EXPECT_EQ(given(run({"-o", "--", "true"})), "option -o needs a value (write --output=DEST)");
  EXPECT_EQ(given(run({"--output", "--quiet", "--", "true"})), "option --output needs a value (write --output=DEST)");
  EXPECT_EQ(given(run({"--output=--quiet"})), "output=--quiet");
}

TEST(Parse, HelpAndVersionEndTheReading) {
  EXPECT_TRUE(run({"-h", "--nonsense"})->help);
  EXPECT_TRUE(run({"--version", "--nonsense"})->version);
  EXPECT_FALSE(run({"true", "--help"})->help);
}

TEST(Parse, WordsMayStandAnywhereForOtherSubcommands) {
  const Words_ arguments{"last", "--json"};
  const auto line = parse_arguments(arguments, kShow, Words::anywhere);
  EXPECT_EQ(given(line), "json=true");
  EXPECT_EQ(line->words, (Words_{"last"}));
}

TEST(Parse, OriginIsWhatWasWritten) {
  const auto line = run({"-i1", "--interval=2"});
  EXPECT_EQ(line->given[0].origin, "-i");
  EXPECT_EQ(line->given[1].origin, "--interval");
}

}  // namespace
}  // namespace tacho
