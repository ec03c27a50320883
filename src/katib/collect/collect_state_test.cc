#include "katib/collect/collect_state.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "os/file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// What another user of the folder wrote instead of the state: no chunk is made of it that reaches behind its rows.
TEST(State, WhatIsTooDeepOrTooMuchIsRefused) {
  CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
  const std::string text = format_state(state), from = "\"watch\":null";
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << text;
  const auto with = [&](const std::string& watch) {
    return std::string(text).replace(at, from.size(), "\"watch\":" + watch);
  };
  EXPECT_TRUE(parse_collect_state(with(std::string(20, '[') + std::string(20, ']'))));
  EXPECT_FALSE(parse_collect_state(with(std::string(400'000, '[') + std::string(400'000, ']'))));
  std::string many = "[0";
  for (int i = 0; i < 3'000'000; i++) many += ",0";
  EXPECT_FALSE(parse_collect_state(with(many + "]")));
  // As many event files as are read, in each position that is kept.
  std::string files;
  for (int i = 0; i < 20'000; i++)
    files +=
        (i == 0 ? "" : ",") +
        (R"({"device":64769,"inode":1234567,"offset":123456,"head":"0123456789abcdef","values":100,"path":"train/events.out.tfevents.)" +
         std::to_string(1'700'000'000 + i) + R"(.host"})");
  state.watch_position = "{\"files\":[" + files + "],\"tags\":[0,1]}";
  state.streams["own"] = {state.watch_position, 5};
  state.pending = PendingChunk{"own", state.watch_position, 5, false, {}, 0, 5, {1}, "abc"};
  const auto large = parse_collect_state(format_state(state));
  ASSERT_TRUE(large) << large.error().message();
  EXPECT_EQ(large->streams.at("own").rows, 5);
}

TEST(State, ChunksThatCannotBeAreRefused) {
  CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
  state.pending = PendingChunk{"own", "", 5, false, {}, 0, 5, {1}, "abc"};
  ASSERT_TRUE(parse_collect_state(format_state(state)));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"rows\":5", "\"rows\":1000000000000"},
                                                        {"\"done\":0", "\"done\":-3"},
                                                        {"\"sending\":5", "\"sending\":99999999"},
                                                        {"\"skipped\":[1]", "\"skipped\":[-1]"},
                                                        {"\"id\":\"abc\"", "\"id\":\"a\\nb\""}}) {
    std::string text = format_state(state);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_FALSE(parse_collect_state(text.replace(at, from.size(), to))) << to;
  }
}

// A log has one position: what is much larger was planted, and no tree of tens of megabytes is made of it.
TEST(State, OfALogIsSmall) {
  CollectState state{"t", "File", "", "", "", false, false, {}, {}, {}, {}, {}};
  for (int i = 0; i < 4'000; ++i) {
    const std::string name = "metric" + std::to_string(i);
    state.acknowledged[name] = 1;
    state.times[name] = {1'700'000'000'000'000, 1'700'000'000'000'000};
    state.digests[name].add(i, "0.5");
  }
  state.pending = PendingChunk{
      "source", "", 4'000, false, std::vector<ArrivalRun>(4'000, {1, 1'700'000'000'000'000}), 0, 4'000, {}, "abc"};
  EXPECT_TRUE(parse_collect_state(format_state(state), "File")) << "what a collector of 4000 metrics writes is taken";
  std::string planted = "[0";
  for (int i = 0; i < 50'000; ++i) planted += ",0";
  state.watch_position = planted + "]";
  EXPECT_FALSE(parse_collect_state(format_state(state), "File"));
  EXPECT_TRUE(parse_collect_state(format_state(state), "TensorFlowEvent"))
      << "20,000 event files have as many positions";

  const TempDir folder;
  const std::string path = folder / "state";
  ASSERT_TRUE(write_file_atomically(path, std::string(5u << 20, ' ')));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(StateFile(path).load("t", "File"));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("file is too large"), std::string::npos);
}

}  // namespace
}  // namespace tacho
