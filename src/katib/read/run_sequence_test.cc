#include "katib/read/run_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "katib/read/filter.h"
#include "katib/read/plain_regex.h"
#include "katib/read/readers.h"
#include "support/temp_dir.h"

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

bool is_sequence(const Filter& filter) { return filter.sequence() != nullptr; }

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

std::string random_text(std::mt19937& random, std::string_view letters, size_t most) {
  std::string text;
  for (size_t size = random() % most; size > 0; --size) text += letters[random() % letters.size()];
  return text;
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
      const std::string line = random_text(random, letters, 24);
      const std::string expected = found_by(*slow, line);
      ASSERT_EQ(found_by(*fast, line), expected) << text << " in " << line;
      matches += !expected.empty();
    }
  }
  EXPECT_GT(sequences, 300);
  EXPECT_GT(matches, 1'000);
}

// The reader looks only round the metrics' names, wherever in a match, a run or behind another match they stand.
TEST(RunSequence, RoundNamesAreTheMatchesThatRe2Finds) {
  std::mt19937 random(29);
  TempDir folder;
  const std::vector<std::string> filters{R"((\w+)=([-+0-9.eE]+))", R"(([ab]+)[=:]+([1.]*))", R"((\w+):\s*(\d+))",
                                         R"(([a=]+)\s*:?([-b1]+)a?)"};
  const std::vector<std::string> words{"a=1", "ab: 1", "b=", "aab", "a", "ab=.1", "1", ":", "-", " ", "\t", "="};
  int sequences = 0, rows = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string text = i % 5 == 4 ? random_sequence(random) : filters[static_cast<size_t>(i % 5)];
    auto slow = Filter::compile(text, 1);
    ASSERT_TRUE(slow) << text;
    if (!is_sequence(*slow)) continue;
    ++sequences;
    slow->use_re2();
    ReaderOptions options;
    options.filters = {text};
    options.metrics = {"a", "ab", "b" + random_text(random, "aab1=", 3)};
    std::string log, expected, got;
    for (int lines = 0; lines < 20; ++lines) {
      std::string line;
      for (size_t more = random() % 12; more > 0; --more) line += words[random() % words.size()];
      log += line + "\n";
      slow->find_all(line, [&](const FilterMatch& match) {
        const bool wanted =
            std::find(options.metrics.begin(), options.metrics.end(), match.name) != options.metrics.end();
        if (wanted && !match.value.empty()) expected.append(match.name).append("<").append(match.value).append(">");
        return true;
      });
    }
    spill(folder / "log", log);
    auto reader = make_text_reader(folder / "log", options);
    ASSERT_TRUE(reader);
    ASSERT_TRUE((*reader)->read(true, 1'000, [&](const RowView& row) {
      got.append(row.name).append("<").append(row.value).append(">"), ++rows;
    }));
    ASSERT_EQ(got, expected) << text << " in\n" << log;
  }
  EXPECT_GT(sequences, 100);
  EXPECT_GT(rows, 500);
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
  RunSequence::Match match;
  EXPECT_EQ(fast->sequence()->find(line, line.data(), match), RunSequence::Found::unknown);
  EXPECT_EQ(found_by(*fast, line), "");
  EXPECT_EQ(found_by(*fast, line + " ab= " + line), "<a,=>");
}

}  // namespace
}  // namespace tacho
