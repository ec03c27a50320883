#include "base/text.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Text, WhatTurnsTheDirectionIsABlank) {
  EXPECT_EQ(harmless_text("a\u202eb\u2066c\u200fd\u200ee\u061cf"), "a b c d e f");
  EXPECT_EQ(harmless_text("\u0627\u200b\u2010"), "\u0627\u200b\u2010");  // letters of that direction stay
}

TEST(Text, AWordForAShell) {
  EXPECT_EQ(shell_word("plain-1.0=ü"), "plain-1.0=ü");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "\"it's\"");
  EXPECT_EQ(shell_word("it's $1"), "'it'\\''s $1'");
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(start_of("abc", 3), "abc");
  EXPECT_EQ(start_of("abc", 2), "ab");
  EXPECT_EQ(start_of("aé", 2), "a");
  EXPECT_EQ(start_of("€€", 5), "€");
  EXPECT_EQ(start_of("€", 2), "");
  EXPECT_EQ(start_of("", 0), "");
  EXPECT_EQ(count_characters(""), 0u);
  EXPECT_EQ(count_characters("aé€𝄞"), 4u);
}

TEST(Text, QuotesGoWhereBothAreAlike) {
  EXPECT_EQ(unquoted("'a b'"), "a b");
  EXPECT_EQ(unquoted("\"\""), "");
  for (const char* kept : {"", "'", "a", "'a\"", "'a", "a'"}) EXPECT_EQ(unquoted(kept), kept);
}

}  // namespace
}  // namespace tacho
