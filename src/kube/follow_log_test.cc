#include "kube/follow_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST_F(Follow, AClockThatIsSetBackLosesNothing) {
  lines_.take("2026-11-15T10:00:05Z a\n2026-11-15T10:00:04Z b\n2026-11-15T10:00:05Z c\n");
  EXPECT_EQ(out_, "a\nb\nc\n");
  lines_.resume();
  lines_.take("2026-11-15T10:00:05Z c\n2026-11-15T10:00:06Z d\n2026-11-15T10:00:01Z e\n");
  EXPECT_EQ(out_, "a\nb\nc\nd\ne\n");
}

TEST(FollowFate, ByStatusAndRestartPolicy) {
  const auto fate = [](const char* policy, const char* state, int64_t& restarts) {
    const Json pod = Json::parse(std::string(R"({"spec":{"restartPolicy":")") + policy +
                                 R"("},"status":{"containerStatuses":[{"name":"other"},{"name":"main","restartCount":3,"state":)" + state + "}]}}");
    return container_fate(pod, "main", restarts);
  };
  const char* const good = R"({"terminated":{"exitCode":0}})";
  const char* const bad = R"({"terminated":{"exitCode":1}})";
  int64_t restarts = 0;
  EXPECT_EQ(fate("Never", bad, restarts), ContainerFate::over);
  EXPECT_EQ(restarts, 3);
  EXPECT_EQ(fate("OnFailure", bad, restarts), ContainerFate::runs) << "it will be started again";
  EXPECT_EQ(fate("OnFailure", good, restarts), ContainerFate::over);
  EXPECT_EQ(fate("Always", good, restarts), ContainerFate::runs);
  EXPECT_EQ(fate("OnFailure", R"({"waiting":{"reason":"CrashLoopBackOff"}})", restarts), ContainerFate::runs);
  EXPECT_EQ(fate("Never", R"({"running":{}})", restarts), ContainerFate::runs);
  EXPECT_EQ(container_fate(Json::parse(R"({"status":{"containerStatuses":[{"name":"x"}]}})"), "main", restarts), ContainerFate::unknown);
  for (const char* odd : {"{}", "[]", "7", R"({"status":{"containerStatuses":{}}})", R"({"status":{"containerStatuses":[7]}})"})
    EXPECT_EQ(container_fate(Json::parse(odd), "main", restarts), ContainerFate::unknown) << odd;
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
