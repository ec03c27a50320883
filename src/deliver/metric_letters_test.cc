#include "deliver/metric_letters.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(MetricLetters, OnlyWhatAKilledProcessMayHaveWrittenIsCompared) {
  const TempDir dir;
  const std::string run = dir / "spool/20261115T140000Z-1-00000000";
  MetricLetters first(run, "20261115-a1b2", false, 0);
  first.add("a 1 1\nb 1 1\n");
  ASSERT_TRUE(first.flush());
  EXPECT_EQ(slurp(first.path()), "a 1 1\nb 1 1\n# EOF\n");
  const int64_t noted = first.bytes();
  first.add("c 1 2\n");
  ASSERT_TRUE(first.flush());  // killed here: state.json does not know of c

  MetricLetters second(run, "20261115-a1b2", false, noted);
  second.add("c 1 2\n");
  second.add("d 1 3\n");
  ASSERT_TRUE(second.flush());
  EXPECT_EQ(slurp(first.path()), "a 1 1\nb 1 1\nc 1 2\nd 1 3\n# EOF\n");
  EXPECT_EQ(second.bytes(), 24);
}

TEST(MetricLetters, ATornEndIsCutOffAndLettersMayBeTakenAway) {
  const TempDir dir;
  const std::string run = dir / "spool/20261115T140000Z-1-00000000";
  MetricLetters letters(run, "../../etc/passwd", true, 0);
  EXPECT_TRUE(letters.path().ends_with("/dead-letter/20261115T140000Z-1-00000000.otlp.jsonl")) << letters.path();
  letters.add("{}\n");
  ASSERT_TRUE(letters.flush());
  std::ofstream(letters.path(), std::ios::app) << "{\"torn";
  letters.add("{1}\n");
  ASSERT_TRUE(letters.flush());
  EXPECT_EQ(slurp(letters.path()), "{}\n{1}\n");
  std::filesystem::remove(letters.path());
  MetricLetters next(run, "../../etc/passwd", true, letters.bytes());
  next.add("{2}\n");
  ASSERT_TRUE(next.flush());
  EXPECT_EQ(slurp(letters.path()), "{2}\n");
}

TEST(MetricLetters, WhatCannotBeKeptStays) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "spool");
  std::ofstream(dir / "spool/dead-letter") << "in the way";
  MetricLetters letters(dir / "spool/20261115T140000Z-1-00000000", "r", false, 0);
  letters.add("a 1 1\n");
  EXPECT_FALSE(letters.flush());
  std::filesystem::remove(dir / "spool/dead-letter");
  ASSERT_TRUE(letters.flush());
  EXPECT_EQ(slurp(letters.path()), "a 1 1\n# EOF\n");
}

// What one process does before it is killed: these letters, each on disk. Returns what state.json would have then.
int64_t write_letters(const TempDir& dir, int64_t bytes, std::initializer_list<const char*> lines) {
  MetricLetters letters(dir / "spool/run-1", "run-1", false, bytes);
  for (const char* line : lines) {
    letters.add(line);
    EXPECT_TRUE(letters.flush());
    EXPECT_TRUE(letters.any());
  }
  return letters.bytes();
}

TEST(MetricLetters, OfProcessesThatWereKilledAreWrittenOnce) {
  const TempDir dir;
  const int64_t first = write_letters(dir, 0, {"a 1 1\n"});
  write_letters(dir, first, {"b 1 2\n", "c 1 3\n", "d 1 4\n"});  // killed before that was written down
  const int64_t third = write_letters(dir, first, {"b 1 2\n"});  // killed behind the first of them
  const int64_t fourth = write_letters(dir, third, {"c 1 3\n", "d 1 4\n"});
  EXPECT_EQ(slurp(dir / "spool/dead-letter/run-1.openmetrics"), "a 1 1\nb 1 2\nc 1 3\nd 1 4\n# EOF\n");
  write_letters(dir, fourth, {"e 1 5\n"});
  EXPECT_EQ(slurp(dir / "spool/dead-letter/run-1.openmetrics"), "a 1 1\nb 1 2\nc 1 3\nd 1 4\ne 1 5\n# EOF\n");
}

TEST(MetricLetters, ThereAreSomeAlsoWhileALineIsInDoubt) {
  const TempDir dir;
  write_letters(dir, 0, {"a 1 1\n"});  // killed before that was written down
  MetricLetters next(dir / "spool/run-1", "run-1", false, 0);
  next.add("b 1 2\n");
  ASSERT_TRUE(next.flush());
  EXPECT_EQ(next.bytes(), 0);
  EXPECT_TRUE(next.any());
}

}  // namespace
}  // namespace tacho
