#include "report/live/live_picture.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text_width.h"
#include "report/live/live_processes.h"
#include "report/live/live_text.h"
#include "support/sample_run.h"

namespace tacho {
namespace {

LiveProcess process_of(pid_t pid, pid_t parent, std::string name, double cpu, double memory = 1 << 20) {
  return {.pid = pid, .parent = parent, .name = std::move(name), .cpu = cpu, .memory_bytes = memory};
}

LiveState sample_state() {
  LiveState state;
  state.figures.begin(sample_run(), sample_schema());
  state.figures.add(sample_row(0, 1.5, 128));
  state.devices.cores = {0, 0.5, 1, kAbsent};
  state.processes = {process_of(10, 1, "sh", 0), process_of(11, 10, "python3", 0.75, 5 << 20),
                     process_of(12, 11, "worker", 1.5, 3 << 20), process_of(20, 1, "idle", 0, 9 << 20)};
  return state;
}

std::string text_of(const Picture& picture) {
  std::string text;
  for (const std::string& line : picture.lines) text += line + "\n";
  return text;
}

std::vector<pid_t> order_of(const LiveState& state, const LiveChoice& choice) {
  std::vector<pid_t> pids;
  for (const ShownProcess& shown : shown_processes(state.processes, choice))
    pids.push_back(state.processes[shown.index].pid);
  return pids;
}

TEST(LivePicture, HasFiguresCoresAndTheTree) {
  const std::string text = text_of(live_picture(sample_state(), {}, {.columns = 80, .lines = 24, .keys = true}));
  EXPECT_EQ(text.find("tacho top · python3 train.py --epochs 3 · 1s\n"), 0u) << text;
  EXPECT_NE(text.find("cpu        1.5 of 2.5 cores"), std::string::npos) << text;
  EXPECT_NE(text.find("cores      ▁▄█\n"), std::string::npos) << text;
  EXPECT_NE(text.find("     12   150%     3 MiB         -   └ worker\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(text.ends_with("q quit  t tree  c m i g sort  p pause  ? help\n"));
}

TEST(LivePicture, NoLineIsWiderAndThereAreNoMoreThanTheWindowHas) {
  LiveState state = sample_state();
  for (int i = 0; i < 300; ++i) state.figures.add(sample_row(i, i % 3, 100 + i));
  state.devices.cores.assign(300, 0.5);
  for (int i = 0; i < 20; ++i) state.devices.gpus.push_back({std::to_string(i), 0.5, 1000, 300, 60});
  for (int i = 0; i < 1000; ++i)
    state.processes.push_back(process_of(100 + i, i == 0 ? 10 : 99 + i, "漢字 with 🚀 name " + std::to_string(i), 0.1));
  for (const size_t columns : {1, 5, 20, 21, 39, 40, 41, 80, 200, 1000})
    for (const size_t lines : {1, 2, 3, 5, 7, 8, 9, 24, 60, 500})
      for (const LiveSort sort : {LiveSort::cpu, LiveSort::memory, LiveSort::io, LiveSort::gpu})
        for (const bool help : {false, true}) {
          LiveChoice choice;
          choice.sort = sort;
          choice.help = help;
          choice.first = 500;
          const Picture picture = live_picture(state, choice, {.columns = columns, .lines = lines, .keys = true});
          EXPECT_LE(picture.lines.size(), lines);
          for (const std::string& line : picture.lines)
            EXPECT_LE(text_width(line), columns) << columns << "x" << lines << ": " << line;
        }
}

TEST(LivePicture, ATinyWindowStillShowsAProcess) {
  const Picture picture = live_picture(sample_state(), {}, {.columns = 20, .lines = 5, .keys = true});
  ASSERT_EQ(picture.lines.size(), 5u);
  EXPECT_EQ(picture.page, 1u);
  EXPECT_EQ(picture.lines[3], "  *CPU COMMAND");
  EXPECT_EQ(picture.lines[4], "    0% sh");
}

TEST(LivePicture, SortsBranchesByAllOfThemAndListsByEach) {
  const LiveState state = sample_state();
  LiveChoice choice;
  EXPECT_EQ(order_of(state, choice), (std::vector<pid_t>{10, 11, 12, 20}));
  choice.sort = LiveSort::memory;
  EXPECT_EQ(order_of(state, choice), (std::vector<pid_t>{10, 11, 12, 20}));  // 9 MiB each: by number
  choice.tree = false;
  EXPECT_EQ(order_of(state, choice), (std::vector<pid_t>{20, 11, 12, 10}));
  choice.sort = LiveSort::cpu;
  EXPECT_EQ(order_of(state, choice), (std::vector<pid_t>{12, 11, 10, 20}));
}

TEST(LivePicture, ARingOfParentsIsOpened) {
  LiveState state;
  state.processes = {process_of(1, 3, "a", 0), process_of(2, 1, "b", 0), process_of(3, 2, "c", 0),
                     process_of(4, 4, "self", 0), process_of(4, 1, "twice", 0)};
  EXPECT_EQ(shown_processes(state.processes, {}).size(), 5u);
  state.processes.clear();
  for (int i = 1; i <= 20'000; ++i) state.processes.push_back(process_of(i, i - 1, "chain", 1));
  EXPECT_EQ(shown_processes(state.processes, {}).back().depth, 19'999u);
  EXPECT_EQ(live_picture(state, {.first = 19'990}, {.columns = 40, .lines = 20}).lines.size(), 20u);
}

TEST(LivePicture, NothingFromOutsideReachesTheTerminal) {
  LiveState state = sample_state();
  state.processes = {process_of(1, 0, "a\033[31m\2335n\n\r\tb\377\303 \342\200\256gpj\342\200\217\314\201e", 1)};
  const std::string text = text_of(live_picture(state, {}, {.columns = 100, .lines = 24}));
  EXPECT_NE(text.find(" a [31m\uFFFD5n   b\uFFFD\uFFFD  gpj e\n"), std::string::npos) << text;
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(LivePicture, SignsHaveTheirLikeInAscii) { EXPECT_EQ(ascii_signs("▁█ a·b…漢é"), "_# a|b~???"); }

TEST(LivePicture, ColoursOnlyWhenAskedFor) {
  Window window{.columns = 80, .lines = 24, .color = true};
  EXPECT_NE(text_of(live_picture(sample_state(), {}, window)).find("\x1b[38;5;"), std::string::npos);
  window.color = false;
  window.ascii = true;
  for (const char c : text_of(live_picture(sample_state(), {}, window))) EXPECT_GE(c, '\n');
}

TEST(LivePicture, WhatIsNotKnownIsADash) {
  LiveState state = sample_state();
  state.processes = {process_of(7, 0, "new", kAbsent, kAbsent)};
  EXPECT_NE(text_of(live_picture(state, {}, {.columns = 80})).find("      7      -         -         - new\n"),
            std::string::npos);
  const auto json = nlohmann::json::parse(live_json(state, sample_schema(), sample_row(0, 1.5, 128)));
  EXPECT_TRUE(json["processes"][0]["cpu"].is_null());
  EXPECT_TRUE(json["processes"][0]["ppid"].is_null());
  EXPECT_EQ(json["cores"], nlohmann::json({0.0, 0.5, 1.0, nullptr}));
  EXPECT_EQ(json["process_cpu_usage"], 1.5);
}

TEST(LiveKeys, EachKeyAndNothingElse) {
  LiveChoice choice;
  EXPECT_EQ(apply_keys("q", 5, choice), KeyEffect::quit);
  EXPECT_EQ(apply_keys("x\x1b[12;5Rz", 5, choice), KeyEffect::none);  // an answer of a terminal is no key
  EXPECT_EQ(apply_keys("m", 5, choice), KeyEffect::changed);
  EXPECT_EQ(choice.sort, LiveSort::memory);
  apply_keys("i", 5, choice);
  EXPECT_EQ(choice.sort, LiveSort::io);
  apply_keys("g", 5, choice);
  EXPECT_EQ(choice.sort, LiveSort::gpu);
  apply_keys("ct?p", 5, choice);
  EXPECT_TRUE(choice.sort == LiveSort::cpu && !choice.tree && choice.help && choice.paused);
  apply_keys("\x1b[B\x1b[B\x1bOB", 5, choice);
  EXPECT_EQ(choice.first, 3u);
  apply_keys("\x1b[A\x1b[6~", 5, choice);
  EXPECT_EQ(choice.first, 7u);
  apply_keys("\x1b[5~\x1b[5~", 5, choice);
  EXPECT_EQ(choice.first, 0u);
  apply_keys("\x1b[F", 5, choice);
  const Picture picture = live_picture(sample_state(), {.first = choice.first}, {.columns = 80, .lines = 8});
  EXPECT_EQ(picture.first + picture.page, 4u);  // the end of the list, not beyond it
}

TEST(LiveDevices, ComeFromTheColumnsOfTheirFile) {
  const std::vector<std::string> columns{"timestamp",     "core_0_usage",  "core_1_usage",
                                         "disk_sda_busy", "gpu_0_usage",   "gpu_0_vram_mib",
                                         "gpu_1_usage",   "gpu_1_power_w", "gpu_x"};
  const LiveDevices devices = live_devices(columns, std::vector<double>{1, 0.25, kAbsent, 1, 0.5, 100, 0.75, 300, 1});
  EXPECT_EQ(devices.cores.size(), 2u);
  ASSERT_EQ(devices.gpus.size(), 2u);
  EXPECT_EQ(devices.gpus[0].vram_mib, 100);
  EXPECT_EQ(devices.gpus[1].power_w, 300);
  EXPECT_TRUE(is_absent(devices.gpus[1].vram_mib));
}

TEST(LiveProcesses, TheLastLineCountsAndBadOnesDoNot) {
  LiveProcesses processes("");
  processes.take(
      "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,"
      "exit\n"
      "5,1,sh,\"sh -c \"\"a,b\"\"\",10.000,,1,0.5,2.000,10,20,,\n"
      "6,5,cat,,11.000,,1,0.1,1.000,,,,\n"
      "garbage\nx,y,z\n,,(short-lived),,,,,3.5,,,,,\n");
  processes.take("6,5,cat,,11.000,12.0");
  ASSERT_EQ(processes.list(false).size(), 2u);
  processes.take("00,1,0.2,1.500,,,,0\n");
  ASSERT_EQ(processes.list(false).size(), 1u);
  const LiveProcess shell = processes.list(false)[0];
  EXPECT_EQ(shell.name, "sh -c \"a,b\"");
  EXPECT_EQ(shell.io_bytes, 30);
  EXPECT_TRUE(is_absent(shell.gpu_bytes));
  ASSERT_EQ(processes.list(true).size(), 3u);
  processes.take(std::string(100'000, 'x') + "\n7,1,new,,1,,1,0,0,0,0,,\n");
  EXPECT_EQ(processes.list(false).size(), 2u);
  processes.take(",,cat,,1,2,1,0,0,0,0,,\n,,cat,,1,2,1,0,0,0,0,,\n");
  EXPECT_EQ(processes.list(true).size(), 6u) << "each for itself where numbers are hidden";
}

}  // namespace
}  // namespace tacho
