#include "katib/collect/collect_state.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

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
  state.streams["own"] = {state.watch_position};
  state.pending = PendingChunk{"own", state.watch_position, 5, false, {}, 0, 5, {1}, "abc"};
  const auto large = parse_collect_state(format_state(state), 20'000 * 300);
  ASSERT_TRUE(large) << large.error().message();
  EXPECT_EQ(large->streams.at("own").position.size(), state.watch_position.size());
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
  EXPECT_TRUE(parse_collect_state(format_state(state))) << "what a collector of 4000 metrics writes is taken";
  std::string planted = "[0";
  for (int i = 0; i < 50'000; ++i) planted += ",0";
  state.watch_position = planted + "]";
  EXPECT_FALSE(parse_collect_state(format_state(state)));
  EXPECT_TRUE(parse_collect_state(format_state(state), 20'000 * 300)) << "20,000 event files have as many positions";

  const TempDir folder;
  const std::string path = folder / "state";
  ASSERT_TRUE(write_file_atomically(path, std::string(5u << 20, ' ')));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(StateFile(path).load("t", "File"));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("file is too large"), std::string::npos);
}

// Much more than what the event files that are there can need is not even looked at; as much as they need makes no
// tree.
TEST(State, OfEventFilesIsAsLargeAsTheirNumber) {
  CollectState state{"t", "TensorFlowEvent", "", "", "", false, false, {}, {}, {}, {}, {}};
  std::string files;
  for (int i = 0; i < 2'000; i++)
    files +=
        (i == 0 ? "" : ",") +
        (R"({"before":[64,4294967295],"device":64769,"inode":1234567,"offset":123456,"path":"/log/train/x.tfevents.)" +
         std::to_string(i) + R"("})");
  state.watch_position = "{\"files\":[" + files + "],\"tags\":[0,1]}";
  state.streams["source"] = {state.watch_position};
  state.pending = PendingChunk{"source", state.watch_position, 5, false, {}, 0, 5, {1}, "abc"};
  const std::string text = format_state(state);
  EXPECT_FALSE(parse_collect_state(text)) << "there are no such files";
  const auto read = parse_collect_state(text, 2'000 * (kEventEntryBytes + 2 * 30));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->watch_position, state.watch_position);
  EXPECT_EQ(read->streams.at("source").position, state.watch_position);
  EXPECT_EQ(read->pending->to, state.watch_position);
  EXPECT_EQ(format_state(*read), text);
}

// In bytes at the worst, a tree of this text would be fifty times as large.
TEST(State, PlantedTextTakesLittleMemory) {
  const auto highest_kib = [] {
    const auto status = read_whole_file("/proc/self/status", 1u << 16);
    const size_t at = status ? status->find("VmHWM:") : std::string::npos;
    return at == std::string::npos ? 0L : std::strtol(status->c_str() + at + 6, nullptr, 10);
  };
  if (!std::ofstream("/proc/self/clear_refs").put('5').flush()) GTEST_SKIP() << "the kernel does not reset the mark";
  CollectState state{"t", "TensorFlowEvent", "", "", "", false, false, {}, {}, {}, {}, {}};
  std::string planted = "[0";
  for (int i = 0; i < 290'000; i++) planted += ",{}";
  state.watch_position = "null";
  const std::string form = format_state(state), from = "\"watch\":null";
  std::string text = form;
  text.replace(text.find(from), from.size(), "\"watch\":" + planted + "]");
  const long before = highest_kib();
  EXPECT_FALSE(parse_collect_state(text));
  EXPECT_TRUE(parse_collect_state(text, 20'000 * 300)) << "20,000 files that are there need as much";
  EXPECT_LT(highest_kib() - before, 6 * 1024) << "its text once more, and no tree";
}

// Whatever somebody does to a state, it is refused or means one thing.
TEST(State, AnyDamageIsRefusedOrRead) {
  CollectState state{"t", "File", R"({"a":"}\"],"})", R"([1,{"b":"\\"}])", "", true, false, {}, {}, {}, {}, {}};
  state.streams["source"] = {R"({"offset":7})"};
  state.acknowledged["loss {\"x\"}"] = 3;
  state.times["loss"] = {1, 2};
  state.pending = PendingChunk{"source", R"({"offset":9})", 5, false, {{5, 1}}, 0, 5, {1}, "abc"};
  const std::string text = format_state(state);
  const auto whole = parse_collect_state(text);
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(format_state(*whole), text);
  std::mt19937 random(8);
  constexpr std::string_view kLetters = "{}[],:\"\\ \n0a-";
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (size_t hits = 1 + random() % 3; hits > 0; --hits) {
      const size_t at = random() % damaged.size();
      if (random() % 3 == 0) damaged.erase(at, 1 + random() % 4);
      else damaged[at] = kLetters[random() % kLetters.size()];
    }
    const auto read = parse_collect_state(damaged);
    if (!read) continue;
    ++taken;
    const auto again = parse_collect_state(format_state(*read));
    ASSERT_TRUE(again) << damaged;
    EXPECT_EQ(format_state(*again), format_state(*read)) << damaged;
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace tacho
