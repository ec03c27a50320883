#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Terminal, ColoursOnlyWhenAsked) {
  EXPECT_EQ(styled("x", Style::red, false), "x");
  EXPECT_EQ(styled("x", Style::red, true), "\033[31mx\033[0m");
  EXPECT_TRUE(use_color(ColorMode::always, -1));
  EXPECT_FALSE(use_color(ColorMode::never, 1));
  EXPECT_FALSE(use_color(ColorMode::automatic, -1));
}

TEST(Terminal, TableAlignsByCodePoints) {
  const Table table{{"A", "BB", "C"}, {{"ä", "1", "x y"}, {"long", "22", ""}}, Overlong::cut};
  EXPECT_EQ(table.text(false, 0), "A     BB  C\nä     1   x y\nlong  22\n");
}

TEST(Terminal, TheLastColumnIsWrapped) {
  const Table table{{"A", "B"}, {{"1", "one two three four"}}, Overlong::wrap};
  EXPECT_EQ(table.text(false, 13), "A  B\n1  one two\n   three four\n");
  EXPECT_EQ(table.text(false, 0), "A  B\n1  one two three four\n");
}

TEST(Terminal, TheLastColumnIsCut) {
  const Table table{{"A", "B"}, {{"1", "äbcdefghijklmn"}}, Overlong::cut};
  EXPECT_EQ(table.text(false, 13), "A  B\n1  äbcdefghi…\n");
  EXPECT_EQ(table.text(false, 17), "A  B\n1  äbcdefghijklmn\n");
  EXPECT_EQ(table.text(false, 5), "A  B\n1  äbcdefghijklmn\n");  // too narrow to be worth it
}

}  // namespace
}  // namespace tacho
