#include "base/text_width.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(TextWidth, CountsColumnsOfATerminal) {
  EXPECT_EQ(text_width("plain"), 5u);
  EXPECT_EQ(text_width("ü·…"), 3u);
  EXPECT_EQ(text_width("漢字"), 4u);
  EXPECT_EQ(text_width("e\u0301🚀"), 3u);  // an accent of its own
  EXPECT_EQ(text_width("한글 カナ ＡＢ"), 14u);
  EXPECT_EQ(text_width("\u0e01\u0e34\u200b"), 1u);
  EXPECT_EQ(text_width("a\xff"), 2u);  // not UTF-8
}

TEST(TextWidth, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to("漢字", 4), "漢字");
  EXPECT_EQ(cut_to("漢字漢", 4), "漢…");
  EXPECT_EQ(cut_to("漢字漢", 5), "漢字…");
  EXPECT_EQ(cut_to("ne\u0301e\u0301", 2), "n…");
  EXPECT_EQ(cut_to("ne\u0301e\u0301", 3), "ne\u0301e\u0301");
  EXPECT_EQ(cut_to("abc", 0), "");
  EXPECT_EQ(cut_to("abc", 1), "…");
  EXPECT_EQ(cut_to("abcdefghij", 6, "..."), "abc...");
  EXPECT_EQ(cut_to("abcdefghij", 3, "..."), "abc");
}

TEST(TextWidth, FillsToTheColumn) {
  EXPECT_EQ(fit_left("漢字漢", 4), "漢… ");
  EXPECT_EQ(fit_right("漢", 4), "  漢");
  EXPECT_EQ(fit_left("", 2), "  ");
}

}  // namespace
}  // namespace tacho
