#include "kube/webhook/follow_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
    const Json pod =
        Json::parse(std::string(R"({"spec":{"restartPolicy":")") + policy +
                    R"("},"status":{"containerStatuses":[{"name":"other"},{"name":"main","restartCount":3,"state":)" +
                    state + "}]}}");
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
  EXPECT_EQ(container_fate(Json::parse(R"({"status":{"containerStatuses":[{"name":"x"}]}})"), "main", restarts),
            ContainerFate::unknown);
  for (const char* odd :
       {"{}", "[]", "7", R"({"status":{"containerStatuses":{}}})", R"({"status":{"containerStatuses":[7]}})"})
    EXPECT_EQ(container_fate(Json::parse(odd), "main", restarts), ContainerFate::unknown) << odd;
}

TEST_F(Follow, AFullDiskEndsIt) {
  LogLines broken([](std::string_view) { return false; });
  EXPECT_FALSE(broken.take("x\n"));
}

TEST_F(Follow, LongLinesAreNotHeld) {
  size_t largest = 0;
  std::string out;
  LogLines lines([&](std::string_view text) { return largest = std::max(largest, text.size()), out += text, true; });
  const std::string kib(1024, 'x');
  EXPECT_TRUE(lines.take("2026-11-15T10:00:00.5Z a"));
  for (int i = 0; i < 5000; i++) EXPECT_TRUE(lines.take(kib));
  EXPECT_GT(out.size(), 4900u << 10) << "more than the beginning is out before its end has come";
  EXPECT_LT(largest, (1u << 20) + 4096);
  EXPECT_TRUE(lines.take("z\n2026-11-15T10:00:00.6Z b\n"));
  EXPECT_EQ(out.size(), 1 + (5000u << 10) + 2 + 2);
  EXPECT_EQ(out.substr(0, 2), "ax");
  EXPECT_EQ(out.substr(out.size() - 5), "xz\nb\n");
  EXPECT_EQ(lines.lines(), 2u);
}

TEST_F(Follow, ALongLineThatIsCutOffComesAgainWhole) {
  const std::string line = "2026-11-15T10:00:00.5Z " + std::string(1u << 20, 'x');
  lines_.take("2026-11-15T10:00:00.5Z a\n" + line);
  lines_.resume();
  lines_.take("2026-11-15T10:00:00.5Z a\n" + line + "y\n2026-11-15T10:00:00.5Z b\n");
  const std::string text(1u << 20, 'x');
  EXPECT_TRUE(out_ == "a\n" + text + "\n" + text + "y\nb\n") << out_.size();
  lines_.resume();
  lines_.take("2026-11-15T10:00:00.5Z a\n" + line + "y\n2026-11-15T10:00:00.5Z b\n2026-11-15T10:00:00.5Z c\n");
  EXPECT_TRUE(out_ == "a\n" + text + "\n" + text + "y\nb\nc\n") << out_.size();
}

TEST(FollowCommand, WhatTheTrainerPutsInTheFilesPlaceIsNotWritten) {
  std::string folder = std::filesystem::temp_directory_path() / "tacho-follow-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto follow = [&](const std::string& name) {
    return follow_log_command(std::vector<std::string>{"--kubeconfig", folder + "/none", "--namespace", "n", "--pod",
                                                       "p", "--container", "c", "--file", folder + name});
  };
  std::ofstream(folder + "/precious") << "kept";
  std::filesystem::create_symlink("precious", folder + "/link");
  ASSERT_EQ(::mkfifo((folder + "/fifo").c_str(), 0666), 0);
  EXPECT_EQ(follow("/link"), 0);
  EXPECT_EQ(std::filesystem::file_size(folder + "/precious"), 4u);
  EXPECT_EQ(follow("/fifo"), 0) << "and it does not wait for a reader";
  EXPECT_EQ(follow("/precious"), 0);
  EXPECT_EQ(std::filesystem::file_size(folder + "/precious"), 0u) << "a plain file is begun anew";
  std::filesystem::remove_all(folder);
}

TEST(FollowCommand, BadOptions) {
  const std::vector<std::vector<std::string>> all = {
      {}, {"--pod"}, {"--what", "x"}, {"--pod", "a", "--namespace", "b", "--container", "c"}};
  for (const auto& words : all) EXPECT_EQ(follow_log_command(words), 2);
}

}  // namespace
}  // namespace tacho
