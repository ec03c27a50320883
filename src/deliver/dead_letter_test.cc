#include "deliver/dead_letter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "os/file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

size_t lines_of(const std::string& path) {
  const std::string text = read_whole_file(path).value_or("");
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(DeadLetters, ARowIsWrittenOnceAlsoAfterARestart) {
  const TempDir dir;
  const std::string folder = dir / "run";
  const BqRow row{0, "id-1", R"({"a":1})"}, other{1, "id-2", R"({"a":2})"};
  for (int start = 0; start < 2; ++start) {
    DeadLetters letters(folder);
    for (int i = 0; i < 2; ++i)
      for (const BqRow* one : {&row, &other}) {
        EXPECT_TRUE(letters.keep("t", {*one, "invalid", "", "no", false}));
        EXPECT_TRUE(letters.keep("t", {*one, "outOfBounds", "", "old", true}));
      }
  }
  EXPECT_EQ(lines_of(dir / "dead-letter/run.jsonl"), 2u);
  EXPECT_EQ(lines_of(dir / "load/run.t.ndjson"), 2u);
}

// Rows have kilobytes, and a table that is wrong refuses all of them.
TEST(DeadLetters, ManyLargeRowsAreNotHeldInMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer has its own memory";
#endif
  const TempDir dir;
  const auto resident_kib = [] {
    const std::string status = read_whole_file("/proc/self/status").value_or("");
    for (const std::string_view line : split(status, '\n'))
      if (line.starts_with("VmRSS:")) return std::strtol(line.data() + 6, nullptr, 10);
    return 0L;
  };
  for (int start = 0; start < 2; ++start) {  // written, and read back after a restart
    DeadLetters letters(dir / "run");
    const std::string filler(2048 * 1024, 'x');
    EXPECT_TRUE(letters.keep("t", {BqRow{0, "first", "{}"}, "outOfBounds", "", "old", true}));
    const long before_kib = resident_kib();
    for (int i = 0; i < 20; ++i) {
      const std::string json = "{\"n\":" + std::to_string(i) + ",\"text\":\"" + filler + "\"}";
      EXPECT_TRUE(letters.keep("t", {BqRow{0, "id", json}, "outOfBounds", "", "old", true}));
    }
    EXPECT_LT(resident_kib() - before_kib, 16 * 1024) << "of 40 MiB";
  }
  EXPECT_EQ(lines_of(dir / "load/run.t.ndjson"), 21u);
}

}  // namespace
}  // namespace tacho
