#include "os/text_table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/text_width.h"

namespace tacho {
namespace {

TEST(TextTable, ColoursOnlyWhenAsked) {
  EXPECT_EQ(styled("x", Style::red, false), "x");
  EXPECT_EQ(styled("x", Style::red, true), "\033[31mx\033[0m");
  EXPECT_FALSE(terminal_takes_colors(-1));
}

TEST(TextTable, LongLinesGoOnBelowTheirText) {
  EXPECT_EQ(fold_text("  memory     peak 3 MiB of 4\n\nend\n", 0), "  memory     peak 3 MiB of 4\n\nend\n");
  EXPECT_EQ(fold_text("  memory     peak 3 MiB of 4\n\nend\n", 26),
            "  memory     peak 3 MiB of\n             4\n\nend\n");
  EXPECT_EQ(fold_text("✓ disk  one two three", 16), "✓ disk  one two\n        three");
  EXPECT_EQ(fold_text("  \033[2mjob    \033[0m a train", 20), "  \033[2mjob    \033[0m a train");
  EXPECT_EQ(fold_text("  \033[2mjob   \033[0m a train of b", 18), "  \033[2mjob   \033[0m a train\n         of b");
  EXPECT_EQ(fold_text("\033[1mone\033[0m two  three", 8), "\033[1mone\033[0m two\nthree");
  EXPECT_EQ(fold_text("        " + std::string(30, 'x') + " y", 20), "        " + std::string(30, 'x') + "\n        y");
  EXPECT_EQ(fold_text("a \033[", 1), "a\n\033[");  // no code of ours
}

TEST(TextTable, TableAlignsByCodePoints) {
  const Table table{{"A", "BB", "C"}, {{"ä", "1", "x y"}, {"long", "22", ""}}, Overlong::cut};
  EXPECT_EQ(table.text(false, 0), "A     BB  C\nä     1   x y\nlong  22\n");
}

TEST(TextTable, TheLastColumnIsWrapped) {
  const Table table{{"A", "B"}, {{"1", "one two three four"}}, Overlong::wrap};
  EXPECT_EQ(table.text(false, 13), "A  B\n1  one two\n   three four\n");
  EXPECT_EQ(table.text(false, 0), "A  B\n1  one two three four\n");
}

TEST(TextTable, TheLastColumnIsCut) {
  const Table table{{"A", "B"}, {{"1", "äbcdefghijklmn"}}, Overlong::cut};
  EXPECT_EQ(table.text(false, 13), "A  B\n1  äbcdefghi…\n");
  EXPECT_EQ(table.text(false, 17), "A  B\n1  äbcdefghijklmn\n");
  EXPECT_EQ(table.text(false, 6), "A  B\n1  äb…\n");
}

TEST(TextTable, NoLineIsWiderThanTheTerminal) {
  Table table{{"", "20261115-aaaa", "20261115-bbbb", "change"},
              {{"time", "10s", "15s", "+50%"}, {"command", std::string(300, 'x'), "make", ""}}};
  table.right_from = 1;
  table.flexible_row = 1;
  for (const size_t width : {5u, 20u, 40u, 60u, 80u, 200u, 400u}) {
    const std::string text = table.text(false, width);
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(text_width(line), width) << text;
  }
  EXPECT_EQ(table.text(false, 48),
            "            20261115-aaaa  20261115-bbbb  change\n"
            "time                  10s            15s    +50%\n"
            "command  xxxxxxxxxxxxxxx…           make\n");
}

TEST(TextTable, WhatIsFirmIsNotCut) {
  Table table{
      {"RUN", "JOB", "TIME", "COMMAND"},
      {{"20261115-aaaa", "a-job-of-a-long-name", "10s", "python3 train.py"}, {"20261115-bbbb", "x", "1m05s", "make"}}};
  table.firm = {true, false, true, false};
  EXPECT_EQ(table.text(false, 40),
            "RUN            JOB       TIME   COMMAND\n"
            "20261115-aaaa  a-job-o…  10s    python3…\n"
            "20261115-bbbb  x         1m05s  make\n");
  for (size_t width = 14; width < 80; ++width) {
    const std::string text = table.text(false, width);
    EXPECT_NE(text.find("\n20261115-aaaa"), std::string::npos) << text;
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(text_width(line), width) << text;
  }
}

TEST(TextTable, WideCharactersTakeTwoColumns) {
  const Table table{{"A", "B"}, {{"漢字", "x"}, {"ab", "y"}}, Overlong::cut};
  EXPECT_EQ(table.text(false, 0), "A     B\n漢字  x\nab    y\n");
  EXPECT_EQ(cut_text("漢字漢字", 5), "漢字…");
}

TEST(TextTable, AsciiWhereTheLocaleHasNothingElse) {
  ::setenv("LC_ALL", "C", 1);
  EXPECT_EQ(cut_text("abcdefghij", 6), "abc...");
  const Table table{{"A", "B"}, {{"ä", "1 · 2"}}, Overlong::cut};
  EXPECT_EQ(table.text(false, 0), "A  B\n?  1 | 2\n");
  ::setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(cut_text("abcdefghij", 6), "abcde…");
  ::unsetenv("LC_ALL");
}

}  // namespace
}  // namespace tacho
