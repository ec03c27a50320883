#include "report/advice.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"

namespace tacho {
namespace {

using nlohmann::json;

Statistics used(double mean, double max, double sum = kAbsent) { return {mean, max, kAbsent, sum, kAbsent, 1}; }

Input input_with(std::vector<std::pair<std::string, Statistics>> statistics, double duration_s = 10) {
  Input input;
  input.stored.run.id = "r";
  input.stored.run.mode = "run";
  input.stored.run.outcome.duration_ns = static_cast<int64_t>(duration_s * 1e9);
  input.stored.statistics = std::move(statistics);
  return input;
}

Advice advise_one(std::vector<std::pair<std::string, Statistics>> statistics) {
  const std::vector<Input> inputs{input_with(std::move(statistics))};
  return advise(inputs);
}

TEST(Advice, MemoryIsRoundedToSizesThatAreSold) {
  for (const auto& [mib, rounded] : std::vector<std::pair<double, int64_t>>{{0.5, 128},
                                                                            {128, 128},
                                                                            {128.1, 256},
                                                                            {257, 512},
                                                                            {1024, 1024},
                                                                            {1025, 2048},
                                                                            {2048, 2048},
                                                                            {2049, 3072},
                                                                            {12000, 12288}})
    EXPECT_EQ(round_memory(mib), rounded) << mib;
}

TEST(Advice, CoresFollowTheMeanAndAreAtLeastOne) {
  for (const auto& [mean, cores] :
       std::vector<std::pair<double, int64_t>>{{0, 1}, {0.4, 1}, {1.49, 1}, {1.5, 2}, {2.5, 3}, {7.9, 8}})
    EXPECT_EQ(advise_one({{"process_cpu_usage", used(mean, 16)}}).cpu, cores) << mean;
}

TEST(Advice, MemoryIsThePeakAndAFifthMore) {
  EXPECT_EQ(advise_one({{"process_memory_mib", used(1, 100)}}).memory_mib, 128);
  EXPECT_EQ(advise_one({{"process_memory_mib", used(1, 107)}}).memory_mib, 256);
  EXPECT_EQ(advise_one({{"process_memory_mib", used(1, 10'035.2)}}).memory_mib, 12'288);
}

TEST(Advice, WhatWasNotMeasuredIsNotAdvisedOn) {
  const Advice advice = advise_one({{"system_cpu_usage", used(1, 2)}});
  EXPECT_FALSE(advice.cpu);
  EXPECT_FALSE(advice.memory_mib);
  EXPECT_FALSE(advice.cpu_p95);
  EXPECT_EQ(advice.allocation, "");
  const json parsed = json::parse(advice_json(advice));
  EXPECT_FALSE(parsed["recommendation"].contains("cpu"));
  EXPECT_FALSE(parsed["statistics"].contains("process_cpu_usage"));
}

TEST(Advice, ADamagedFileDoesNoHarm) {
  const Advice advice =
      advise_one({{"process_cpu_usage", used(1e300, 1e300)}, {"process_memory_mib", used(-5, 1e300)}});
  EXPECT_GT(*advice.cpu, 0);
  EXPECT_GT(*advice.memory_mib, 0);
  const std::string text = advice_text(advice, false);
  EXPECT_LT(text.size(), 400u) << text;
}

TEST(Advice, GpusOnlyWhereTheyWereUsed) {
  EXPECT_EQ(advise_one({}).gpu, 0);
  EXPECT_EQ(advise_one({{"process_gpu_usage", used(0, 0)}}).gpu, 0);
  EXPECT_EQ(advise_one({{"process_gpu_usage", used(0.1, 0.3)}}).gpu, 1);
  EXPECT_EQ(advise_one({{"process_gpu_usage", used(0.1, 2.5)}}).gpu, 3);
  EXPECT_EQ(advise_one({{"process_gpu_vram_mib", used(0, 0)}}).vram_mib, 0);
  EXPECT_EQ(advise_one({{"process_gpu_vram_mib", used(1, 2000)}}).vram_mib, 3072);
}

TEST(Advice, SeveralRunsAverageMeansAndTakeTheHighestOfTheRest) {
  const std::vector<Input> inputs{input_with({{"process_cpu_usage", used(1, 3)},
                                              {"process_memory_mib", used(10, 100)},
                                              {"system_net_recv_bytes", used(1, 1, 500)}},
                                             10),
                                  input_with({{"process_cpu_usage", used(4, 4)},
                                              {"process_memory_mib", used(20, 50)},
                                              {"system_net_recv_bytes", used(1, 1, 70)}},
                                             20)};
  const Advice advice = advise(inputs);
  EXPECT_EQ(advice.cpu, 3);
  EXPECT_EQ(advice.memory_mib, 128);
  const json statistics = json::parse(advice_json(advice))["statistics"];
  EXPECT_EQ(statistics["process_cpu_usage"], (json{{"mean", 2.5}, {"max", 4.0}}));
  EXPECT_EQ(statistics["system_net_recv_bytes"], (json{{"sum", 500}}));
  EXPECT_EQ(statistics["timestamp"], (json{{"duration", 15.0}}));
}

TEST(Advice, AMachineIsSharedWhenOthersUsedMoreThanAMargin) {
  const auto guess = [](double system, double process) {
    return advise_one({{"system_cpu_usage", used(system, system)}, {"process_cpu_usage", used(process, process)}})
        .allocation;
  };
  EXPECT_EQ(guess(1.2, 1), "dedicated");
  EXPECT_EQ(guess(1.26, 1), "shared");
  EXPECT_EQ(guess(4.3, 4), "shared");
  EXPECT_EQ(guess(4.2, 4), "dedicated");
}

TEST(Advice, ThePercentileIsWeightedByTime) {
  const TempDir dir;
  const std::string path = dir / "m.csv";
  std::ofstream(path)
      << "timestamp,process_cpu_usage,process_memory_mib\n100.000,1.0,5\n101.000,1.2,5\n195.000,2.3,5\n200.000,7.5,5\n";
  const auto input = read_input(dir.path(), path);
  ASSERT_TRUE(input);
  const std::vector<Input> inputs{*input};
  const Advice advice = advise(inputs);
  EXPECT_EQ(advice.cpu_p95, 3);  // 5 of 101 seconds were spent at 7.5
  EXPECT_EQ(advice.runs, std::vector<std::string>{"m.csv"});
  EXPECT_NE(advice_text(advice, false).find("at most 3 for 95 %"), std::string::npos);
}

}  // namespace
}  // namespace tacho
