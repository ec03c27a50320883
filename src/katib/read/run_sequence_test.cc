#include "katib/read/run_sequence.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "katib/read/filter.h"
#include "katib/read/plain_regex.h"

namespace tacho {
namespace {

std::string found_by(Filter& filter, std::string_view line) {
  std::string text;
  filter.find_all(line, [&](const FilterMatch& match) {
    text += "<" + std::string(match.name) + "," + std::string(match.value) + ">";
    return true;
  });
  return text;
}

bool is_sequence(const Filter& filter) { return filter.is_plain() && filter.plain()->sequence().has_value(); }

// Two groups of classes, and classes between them, each any number of times.
std::string random_sequence(std::mt19937& random) {
  static const std::vector<std::string> kClasses{"a",   "b",   "=",    "[ab]", "[^a]", "\\w",
                                                 "\\d", "\\s", "[1.]", "[-+]", " ",    ":"};
  static const std::vector<std::string> kTimes{"", "", "+", "+", "*", "?", "+?"};
  const auto part = [&](size_t most) {
    std::string text;
    for (size_t more = random() % (most + 1); more > 0; --more)
      text += kClasses[random() % kClasses.size()] + kTimes[random() % kTimes.size()];
    return text;
  };
  return part(1) + "(" + kClasses[random() % kClasses.size()] + "+" + part(1) + ")" + part(2) + "(" + part(3) + ")" +
         part(1);
}

TEST(RunSequence, FindsWhatRe2Finds) {
  std::mt19937 random(23);
  const std::string letters = "aab==1. \t-+:c";
  int sequences = 0, matches = 0;
  for (int i = 0; i < 4'000; ++i) {
    const std::string text = random_sequence(random);
    auto fast = Filter::compile(text, 1), slow = Filter::compile(text, 1);
    ASSERT_TRUE(fast && slow) << text;
    if (!is_sequence(*fast)) continue;
    ++sequences;
    slow->use_re2();
    for (int j = 0; j < 20; ++j) {
      std::string line;
      for (size_t size = random() % 24; size > 0; --size) line += letters[random() % letters.size()];
      const std::string expected = found_by(*slow, line);
      ASSERT_EQ(found_by(*fast, line), expected) << text << " in " << line;
      matches += !expected.empty();
    }
  }
  EXPECT_GT(sequences, 300);
  EXPECT_GT(matches, 1'000);
}

TEST(RunSequence, UsualFiltersAreSome) {
  for (const char* text : {R"((\w+)=([-+0-9.eE]+))", R"(([\w|-]+)\s*=\s*([+-]?\d+))",
                           R"((?P<name>\w+):\s*(?P<value>\S+))", R"(([a-z_]+) is (\d+\.\d+))"})
    EXPECT_TRUE(is_sequence(*Filter::compile(text, 1))) << text;
  // A letter that two of them could take; no run at the beginning; a choice; lazy.
  for (const char* text : {R"((\w+)a(\d+))", R"(=(\w+) (\d+))", R"((\w+)=(\d+|x))", R"((\w+?)=(\d+))", R"((\w)=(\d+))"})
    EXPECT_FALSE(is_sequence(*Filter::compile(text, 1))) << text;
}

// Each try reads to the end and fails there: the automaton, which reads every letter once, takes over.
TEST(RunSequence, ReadingFarAheadInVainIsGivenUp) {
  auto fast = Filter::compile("(a+)b[ab]*(=)", 1);
  ASSERT_TRUE(fast && is_sequence(*fast));
  std::string line;
  for (int i = 0; i < 200'000; ++i) line += "ab";
  RunSequence::Places places{};
  EXPECT_EQ(fast->plain()->sequence()->find(line, 0, places), RunSequence::Found::unknown);
  EXPECT_EQ(found_by(*fast, line), "");
  EXPECT_EQ(found_by(*fast, line + " ab= " + line), "<a,=>");
}

}  // namespace
}  // namespace tacho
