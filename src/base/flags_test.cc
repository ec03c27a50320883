#include "base/flags.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

constexpr Flag kKnown[] = {{"output", Flag::Kind::text, 'o', "FILE", "where"},
                           {"interval", Flag::Kind::text, 'i', "D", "how often"},
                           {"quiet", Flag::Kind::yes_no, 'q', "", "say less"},
                           {"all", Flag::Kind::bare, 'a', "", "of them"}};
using Words = std::vector<std::string>;

// "flag output=x; word y; unknown -z", as a table of tests can hold it.
std::string read(const Words& words, FlagRules rules) {
  constexpr const char* kNames[] = {"flag", "word", "unknown", "no_value", "stray_value"};
  std::string out;
  for (FlagReader reader(words, kKnown, rules); reader.next();) {
    out += std::string(out.empty() ? "" : "; ") + kNames[static_cast<int>(reader->kind)] + " ";
    if (reader->kind == FlagWord::Kind::flag) out += std::string(reader->flag->name) + "=" + reader->value;
    else if (reader->kind == FlagWord::Kind::word) out += reader->word;
    else out += reader->name;
  }
  return out;
}

TEST(Flags, LongFormsAndLetters) {
  const FlagRules rules;
  EXPECT_EQ(read({"--output", "x", "--output=y", "-o", "z"}, rules), "flag output=x; flag output=y; flag output=z");
  EXPECT_EQ(read({"--output=", "--output", ""}, rules), "flag output=; flag output=");
  EXPECT_EQ(read({"--output=a=b", "-o=c"}, rules), "flag output=a=b; flag output=c");
  EXPECT_EQ(read({"--quiet", "--quiet=no", "-q", "--all", "-a"}, rules),
            "flag quiet=true; flag quiet=no; flag quiet=true; flag all=true; flag all=true");
  EXPECT_EQ(read({"--all=x", "-a=x"}, rules), "stray_value --all; stray_value -a");
  EXPECT_EQ(read({"--output"}, rules), "no_value --output");
  EXPECT_EQ(read({"-ox", "-output", "--o", "--", "---all", "--=x"}, rules),
            "unknown -ox; unknown -output; unknown --o; unknown --; unknown ---all; unknown --");
  EXPECT_EQ(read({"a", "-", "", "--all", "b"}, rules), "word a; word -; word ; flag all=true; word b");
}

TEST(Flags, AValueMayLookLikeAnything) {
  const FlagRules rules;
  EXPECT_EQ(read({"--output", "--all", "--output", "--", "--output", "-"}, rules),
            "flag output=--all; flag output=--; flag output=-");
  FlagRules careful;
  careful.known_is_no_value = true;
  EXPECT_EQ(read({"--output", "--all"}, careful), "no_value --output; flag all=true");
  EXPECT_EQ(read({"--output", "--nobody", "--output", "-a"}, careful), "flag output=--nobody; flag output=-a");
  EXPECT_EQ(read({"--output", "--"}, careful), "no_value --output; unknown --");
}

TEST(Flags, TheEndOfFlags) {
  FlagRules rules;
  rules.dashes = FlagRules::Dashes::words;
  EXPECT_EQ(read({"a", "--", "--all", "--", "-"}, rules), "word a; word --all; word --; word -");
  rules.comment_is_word = true;
  EXPECT_EQ(read({"-- all", "--all", "--", "--all"}, rules), "word -- all; flag all=true; word --all");
  rules.comment_is_word = false;
  EXPECT_EQ(read({"-- all"}, rules), "unknown -- all");
  rules.lone_dash_is_unknown = true;
  EXPECT_EQ(read({"-", "--", "-"}, rules), "unknown -; word -");
  rules.first_word_ends = true;
  EXPECT_EQ(read({"--all", "make", "--all", "--"}, rules), "flag all=true; word make; word --all; word --");
  rules.dashes = FlagRules::Dashes::end;
  EXPECT_EQ(read({"--all", "--", "x"}, rules), "flag all=true");
  const Words words{"--"};
  FlagReader reader(words, kKnown, rules);
  EXPECT_FALSE(reader.dashes());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.dashes());
}

TEST(Flags, Clusters) {
  FlagRules rules;
  rules.clusters = true;
  EXPECT_EQ(read({"-qi0.5", "-i=2", "-i", "3", "-qa"}, rules),
            "flag quiet=true; flag interval=0.5; flag interval=2; flag interval=3; flag quiet=true; flag all=true");
  EXPECT_EQ(read({"-qzq", "x"}, rules), "flag quiet=true; unknown -z; word x");
  EXPECT_EQ(read({"-qi"}, rules), "flag quiet=true; no_value -i");
  EXPECT_EQ(read({"-q=no"}, rules), "flag quiet=true; unknown -=");
}

TEST(Flags, OneDashAsGoHasIt) {
  FlagRules rules;
  rules.one_dash = true;
  EXPECT_EQ(read({"-output", "x", "-output=y", "--output=z", "-q", "--q"}, rules),
            "flag output=x; flag output=y; flag output=z; flag quiet=true; flag quiet=true");
  EXPECT_EQ(read({"-quiet", "no"}, rules), "flag quiet=true; word no");
  rules.switch_takes_word = true;
  EXPECT_EQ(read({"-quiet", "no", "-quiet", "-all", "no", "-quiet"}, rules),
            "flag quiet=no; flag quiet=true; flag all=true; word no; flag quiet=true");
  EXPECT_EQ(read({"-=x", "---all"}, rules), "unknown -; unknown ---all");
}

TEST(Flags, HintsAndHelp) {
  EXPECT_EQ(nearest_flag("--outptu", kKnown, "see --help"), "did you mean --output?");
  EXPECT_EQ(nearest_flag("--zzzzzzzz", kKnown, "see --help"), "see --help");
  EXPECT_EQ(flags_help(std::span(kKnown).first(1), 24, 1), "  -o, --output FILE     where\n");
  EXPECT_EQ(flags_help(std::span(kKnown).first(1), 5, 2), "  -o, --output FILE  where\n");
  constexpr Flag kWithoutLetter[] = {{"all", Flag::Kind::bare, 0, "", "of them"}};
  EXPECT_EQ(flags_help(kWithoutLetter, 9, 1), "  --all  of them\n");
}

}  // namespace
}  // namespace tacho
