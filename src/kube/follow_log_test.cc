#include "kube/follow_log.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

class Follow : public ::testing::Test {
 protected:
  std::string out_;
  LogLines lines_{[this](std::string_view text) { return out_ += text, true; }};
};

TEST_F(Follow, TimesAreTakenOff) {
  EXPECT_TRUE(lines_.take("2026-11-15T10:00:00.1Z loss=1\n2026-11-15T10:00:00.2Z \nno ti"));
  EXPECT_TRUE(lines_.take("me\n2026-11-15T10:00:01Z last"));
  EXPECT_EQ(out_, "loss=1\n\nno time\n");
  EXPECT_EQ(lines_.since(), "2026-11-15T10:00:00Z");
  EXPECT_TRUE(lines_.finish());
  EXPECT_EQ(out_, "loss=1\n\nno time\nlast");
}

TEST_F(Follow, ResumesWithoutDoublesOrGaps) {
  lines_.take("2026-11-15T10:00:00.5Z a\n2026-11-15T10:00:00.50Z b\n2026-11-15T10:00:00.6Z c-hal");
  lines_.resume();
  lines_.take(
      "2026-11-15T10:00:00.1Z old\n2026-11-15T10:00:00.5Z a\n2026-11-15T10:00:00.5Z b\n2026-11-15T10:00:00.5Z "
      "another\n2026-11-15T10:00:00.6Z c-half\n");
  EXPECT_EQ(out_, "a\nb\nanother\nc-half\n");
}

TEST_F(Follow, AFullDiskEndsIt) {
  LogLines broken([](std::string_view) { return false; });
  EXPECT_FALSE(broken.take("x\n"));
}

TEST(FollowCommand, BadOptions) {
  const std::vector<std::vector<std::string>> all = {
      {}, {"--pod"}, {"--what", "x"}, {"--pod", "a", "--namespace", "b", "--container", "c"}};
  for (const auto& words : all) EXPECT_EQ(follow_log_command(words), 2);
}

}  // namespace
}  // namespace tacho
