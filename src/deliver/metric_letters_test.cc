#include "deliver/metric_letters.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// What one process does before it is killed: these letters, each on disk. Returns what state.json would have then.
int64_t write_letters(const TempDir& root, int64_t bytes, std::initializer_list<const char*> lines) {
  MetricLetters letters(root / "run-1", "run-1", false, bytes);
  for (const char* line : lines) {
    letters.add(line);
    EXPECT_TRUE(letters.flush());
    EXPECT_TRUE(letters.any());
  }
  return letters.bytes();
}

std::string letters_of(const TempDir& root) {
  const auto text = read_whole_file(root / "dead-letter/run-1.openmetrics");
  return text ? *text : "";
}

}  // namespace

TEST(MetricLetters, OfProcessesThatWereKilledAreWrittenOnce) {
  const TempDir root;
  const int64_t first = write_letters(root, 0, {"a 1 1\n"});
  write_letters(root, first, {"b 1 2\n", "c 1 3\n", "d 1 4\n"});  // killed before that was written down
  const int64_t third = write_letters(root, first, {"b 1 2\n"});  // killed behind the first of them
  const int64_t fourth = write_letters(root, third, {"c 1 3\n", "d 1 4\n"});
  EXPECT_EQ(letters_of(root), "a 1 1\nb 1 2\nc 1 3\nd 1 4\n# EOF\n");
  write_letters(root, fourth, {"e 1 5\n"});
  EXPECT_EQ(letters_of(root), "a 1 1\nb 1 2\nc 1 3\nd 1 4\ne 1 5\n# EOF\n");
}

}  // namespace tacho
