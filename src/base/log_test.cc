#include "base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace tacho {
namespace {

std::string said(const std::string& text) {
  testing::internal::CaptureStderr();
  log::error(text);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, HeldMessagesAreHandedOverOrPrintedAtTheEnd) {
  testing::internal::CaptureStderr();
  log::hold();
  log::error("first");
  log::warn("log_test: second");
  EXPECT_TRUE(log::holds_any());
  EXPECT_EQ(log::take(), (std::vector<std::string>{"first", "log_test: second"}));
  EXPECT_FALSE(log::holds_any());
  log::error("third");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing between two rows";
  testing::internal::CaptureStderr();
  log::release();
  log::error("fourth");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tacho: third\ntacho: fourth\n");
  EXPECT_FALSE(log::holds_any());
}

TEST(Log, GoodNewsIsNoWarning) {
  const uint64_t before = log::warnings();
  testing::internal::CaptureStderr();
  log::info("it works again");
  log::info("it works again");
  log::set_level(log::Level::quiet);
  log::info("and again");
  log::set_level(log::Level::normal);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tacho: it works again\ntacho: it works again\n");
  EXPECT_EQ(log::warnings(), before);
}

TEST(Log, HoldsNoMoreThanAHundred) {
  log::hold();
  for (int i = 0; i < 250; ++i) log::error(std::string(10'000, 'x'));
  const std::vector<std::string> lines = log::take();
  EXPECT_EQ(lines.size(), 101u);
  EXPECT_LT(lines[0].size(), 4000u);
  EXPECT_EQ(lines.back(), "150 more messages were dropped");
  log::release();
}

TEST(Log, NothingFromOutsideLeavesItsLine) {
  EXPECT_EQ(said("plain"), "tacho: plain\n");
  EXPECT_EQ(said("a\nb\n"), "tacho: a; b\n");
  const std::vector<std::string> all = {"x\r\ntacho: forged",
                                        "\x1b[2J\x1b]0;title\x07",
                                        "\xc2\x9b"
                                        "31m",
                                        "a\xe2\x80\xae"
                                        "b",
                                        "\xff\xfe",
                                        "\x7f\x08\x08",
                                        "\xe2\x80\xa8line",
                                        std::string("nul\0nul", 7)};
  for (const std::string& evil : all) {
    const std::string line = said("Trial " + evil + " is odd");
    EXPECT_TRUE(line.starts_with("tacho: Trial ")) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_TRUE(line.ends_with(" is odd\n")) << line;
    for (const char c : line.substr(0, line.size() - 1))
      EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << line;
    EXPECT_EQ(line.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_EQ(valid_utf8(line), line);
  }
}

TEST(Log, LinesAreBounded) {
  std::string euros;
  for (int i = 0; i < 100'000; i++) euros += "\xe2\x82\xac";
  const std::string line = said(euros);
  EXPECT_LT(line.size(), 4'200u);
  EXPECT_TRUE(line.ends_with("...\n"));
  EXPECT_EQ(valid_utf8(line), line) << "cut between characters, or mended";
}

TEST(Log, WarningsAreSaidOnceAndAFloodIsBounded) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; i++) log::warn("the same");
  for (int i = 0; i < 5'000; i++) log::warn("flood " + std::to_string(i));
  const std::string all = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(all.begin(), all.end(), '\n'), 1'000);
  EXPECT_GE(std::count(all.begin(), all.end(), '\n'), 500);
  EXPECT_GE(log::warnings(), 5'003u);
}

}  // namespace
}  // namespace tacho
