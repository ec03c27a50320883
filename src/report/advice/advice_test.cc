#include "report/advice/advice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"

namespace tacho {
namespace {

using nlohmann::json;

constexpr int64_t kGib = int64_t{1} << 30;

// A run of that many seconds, a row each, at `cores` cores (the last 4 % of the time at 3 more), as the store reads it.
class AdvisedRuns {
 public:
  Input& add(double cores, int64_t peak_bytes, int64_t seconds = 100) {
    const std::string path = dir_ / ("r" + std::to_string(inputs_.size()) + ".csv");
    std::ofstream rows(path);
    rows << "timestamp,process_cpu_usage,process_memory_mib\n";
    for (int64_t i = 1; i <= seconds; ++i)
      rows << 1000 + i << ".000," << (i > seconds * 96 / 100 ? cores + 3 : cores) << ",5\n";
    Input input;
    input.rows_path = path;
    input.stored.run.id = "run" + std::to_string(inputs_.size());
    input.stored.run.mode = "run";
    input.stored.run.interval_ns = 1'000'000'000;
    input.stored.run.host.host_vcpus = 8;
    input.stored.run.host.host_memory_mib = 32 * 1024;
    input.stored.run.host.host_gpu_count = 0;
    input.stored.run.outcome.state = RunState::finished;
    input.stored.run.outcome.exit_code = 0;
    input.stored.run.outcome.duration_ns = seconds * 1'000'000'000;
    input.stored.run.totals.memory_peak_bytes = peak_bytes;
    input.stored.rows = seconds;
    input.stored.statistics = {{"process_cpu_usage", {cores, cores + 3, 0, kAbsent, 0, seconds}},
                               {"process_memory_mib", {5, 5, 0, kAbsent, 0, seconds}}};
    inputs_.push_back(std::move(input));
    return inputs_.back();
  }
  Advice advice() const { return advise(inputs_); }

 private:
  TempDir dir_;
  std::vector<Input> inputs_;
};

json json_of(const Advice& advice) {
  Writer out;
  JsonWriter writer(out);
  writer.object();
  write_advice(writer, advice);
  writer.end_object();
  return json::parse(out.view());
}

TEST(Advice, OneRunIsAHistoryOfOne) {
  AdvisedRuns runs;
  runs.add(1.96, 4 * kGib);
  const Advice advice = runs.advice();
  EXPECT_EQ(advice.refused, "");
  EXPECT_DOUBLE_EQ(*advice.cpu.used, 1.96);  // as measured, not rounded up
  EXPECT_EQ(advice.cpu.advised, 2);
  EXPECT_EQ(advice.memory.advised, 5 * 1024);  // a quarter more; the peak is the true one, not the highest sample
  EXPECT_EQ(advice.time_s, 125);
  EXPECT_EQ(advice.gpu.advised, 0);
  const std::string text = advice_text(advice, false);
  EXPECT_NE(text.find("  cpu        2 cores  (used 2 or less for 95 % of the time)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  memory     5 GiB  (peak 4 GiB, a quarter more)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("over: had 32 GiB; "), std::string::npos) << text;
}

TEST(Advice, AHistoryTakesTheHighestAndAFifth) {
  AdvisedRuns runs;
  for (const double cores : {1.0, 2.0, 3.5})
    runs.add(cores, static_cast<int64_t>(cores * kGib), static_cast<int64_t>(100 * cores));
  const Advice advice = runs.advice();
  EXPECT_DOUBLE_EQ(*advice.cpu.used, 3.5);
  EXPECT_EQ(advice.cpu.advised, 4);
  EXPECT_EQ(advice.memory.advised, static_cast<int64_t>(std::ceil(3.5 * 1024 * 1.2)));
  EXPECT_EQ(advice.time_s, 438);
  EXPECT_EQ(advice.runs.size(), 3u);
}

TEST(Advice, The95thOfTwentyRunsLeavesOneOut) {
  AdvisedRuns runs;
  for (int i = 0; i < 19; ++i) runs.add(1, kGib);
  runs.add(7, kGib);
  EXPECT_EQ(runs.advice().cpu.advised, 1);
}

TEST(Advice, ABusyCoreIsNotTwo) {
  for (const auto& [used, advised] :
       std::vector<std::pair<double, int64_t>>{{0.0, 1}, {0.2, 1}, {1.01, 1}, {1.2, 2}, {2.0, 2}}) {
    AdvisedRuns runs;
    runs.add(used, kGib);
    EXPECT_EQ(runs.advice().cpu.advised, advised) << used;
  }
}

TEST(Advice, IsRefusedWithTheReason) {
  const auto refused = [](const std::function<void(Input&)>& change) {
    AdvisedRuns runs;
    change(runs.add(1, kGib));
    const Advice advice = runs.advice();
    EXPECT_TRUE(advice.refused.empty() || json_of(advice)["advice"].is_null());
    return advice.refused;
  };
  EXPECT_NE(refused([](Input& input) { input.stored.rows = 9; }).find("9 samples"), std::string::npos);
  EXPECT_EQ(refused([](Input& input) { input.stored.rows = 10; }), "");
  EXPECT_NE(refused([](Input& input) { input.stored.run.outcome.duration_ns = 9'900'000'000; }).find("9.9s"),
            std::string::npos);
  EXPECT_EQ(refused([](Input& input) { input.stored.run.outcome.duration_ns = 10'000'000'000; }), "");
  const auto not_found = [&](int64_t rows) {
    return refused([rows](Input& input) {
      input.stored.rows = rows;
      input.stored.run.outcome.state = RunState::failed;
      input.stored.run.outcome.exit_code = 127;
    });
  };
  EXPECT_NE(not_found(1).find("failed to start"), std::string::npos);
  EXPECT_EQ(not_found(100), "") << "a shell whose last command was not found";
  EXPECT_NE(refused([](Input& input) { input.stored.run.mode = "watch"; }).find("no job"), std::string::npos);
  EXPECT_FALSE(advise({}).refused.empty());
}

TEST(Advice, OutOfMemoryIsAGuess) {
  const auto advised = [](std::optional<int64_t> limit, int64_t peak) {
    AdvisedRuns runs;
    tacho::Run& run = runs.add(1, peak).stored.run;
    run.outcome.state = RunState::failed;
    run.outcome.exit_code = 137;
    run.outcome.oom_killed = true;
    run.limits.memory_limit_bytes = limit;
    const Advice advice = runs.advice();
    EXPECT_TRUE(advice.guess);
    EXPECT_EQ(advice.memory.state, "under");
    EXPECT_NE(advice_text(advice, false).find("a guess until a run succeeds"), std::string::npos);
    return *advice.memory.advised;
  };
  EXPECT_EQ(advised(2 * kGib, kGib), 4096);                // twice the limit
  EXPECT_EQ(advised(std::nullopt, 3 * kGib), 6144);        // twice the peak
  EXPECT_EQ(advised(std::nullopt, kGib / 2), 512 + 1024);  // a GiB more at least
  EXPECT_EQ(advised(kGib / 4, kGib / 2), 512 + 1024);
}

TEST(Advice, FailedRunsCountOnlyWhereThereIsNoOther) {
  AdvisedRuns runs;
  tacho::Run& bad = runs.add(5, 8 * kGib).stored.run;
  bad.outcome.state = RunState::failed;
  bad.outcome.exit_code = 1;
  Advice advice = runs.advice();
  EXPECT_EQ(advice.memory.advised, 10 * 1024);
  ASSERT_EQ(advice.warnings.size(), 1u);
  EXPECT_NE(advice.warnings[0].find("did not end well: run0 (exit 1)"), std::string::npos);
  runs.add(1, kGib);
  advice = runs.advice();
  EXPECT_EQ(advice.memory.advised, 1280);
  EXPECT_EQ(advice.runs, std::vector<std::string>{"run1"});
  EXPECT_NE(advice.warnings.at(0).find("left out: run0"), std::string::npos);
}

TEST(Advice, StatesCompareWithWhatWasAskedFor) {
  const auto states = [](double cpus, double memory_gib, int64_t gpus, double used_cores = 2, double used_gib = 4) {
    AdvisedRuns runs;
    Input& input = runs.add(used_cores, static_cast<int64_t>(used_gib * kGib));
    RequestedSize& requested = input.stored.run.started_by.requested;
    requested.cpus = cpus;
    requested.memory_bytes = static_cast<int64_t>(memory_gib * kGib);
    requested.gpus = gpus;
    const Advice advice = runs.advice();
    const json parsed = json_of(advice)["advice"];
    EXPECT_EQ(parsed["cpu"]["asked"], cpus);
    EXPECT_EQ(parsed["memory"]["used"], used_gib * 1024);
    for (const char* what : {"cpu", "memory", "gpu"}) EXPECT_FALSE(parsed[what]["risk"].get<std::string>().empty());
    return advice.cpu.state + " " + advice.memory.state + " " + advice.gpu.state;
  };
  EXPECT_EQ(states(2, 6, 0), "right right right");
  EXPECT_EQ(states(8, 32, 1), "over over over");
  EXPECT_EQ(states(1, 4, 0), "under under right");
  EXPECT_EQ(states(2, 4.1, 0), "right under right");
  EXPECT_EQ(states(4, 7.6, 0, 3), "right over right");
}

TEST(Advice, ThrottlingIsTooLittle) {
  AdvisedRuns runs;
  Input& input = runs.add(0.9, kGib);
  input.stored.run.limits.cpu_quota_cores = 1;
  EXPECT_EQ(runs.advice().cpu.state, "right");
  AdvisedRuns throttled;
  Input& other = throttled.add(0.9, kGib);
  other.stored.run.limits.cpu_quota_cores = 1;
  other.stored.statistics.emplace_back("cgroup_throttled_time", Statistics{0.3, 1, 0, 30, 0, 100});
  EXPECT_EQ(throttled.advice().cpu.state, "under");
  EXPECT_EQ(throttled.advice().cpu.asked, 1);
}

TEST(Advice, CoresThatOthersHeldAreNotTooFew) {
  for (const double cores : {2.0, 7.9}) {
    AdvisedRuns runs;
    runs.add(cores, kGib).stored.statistics.push_back({"cgroup_pressure_cpu_some", {0.8, 1, 0, kAbsent, 0, 100}});
    const Advice advice = runs.advice();
    EXPECT_EQ(advice.cpu.state, "under");
    EXPECT_EQ(advice.cpu.risk.find("cores of its own") != std::string::npos, cores < 7) << advice.cpu.risk;
  }
}

TEST(Advice, GpusByUse) {
  const auto gpu = [](std::vector<std::pair<std::string, Statistics>> statistics, int64_t there) {
    AdvisedRuns runs;
    Input& input = runs.add(1, kGib);
    input.stored.run.host.host_gpu_count = there;
    for (auto& entry : statistics) input.stored.statistics.push_back(std::move(entry));
    return runs.advice().gpu.advised;
  };
  EXPECT_EQ(gpu({}, 0), 0);
  EXPECT_EQ(gpu({{"process_gpu_usage", {0, 0}}, {"process_gpu_utilized", {0, 0}}}, 2), 0);
  EXPECT_EQ(gpu({{"process_gpu_usage", {0.1, 0.3}}, {"process_gpu_utilized", {1, 1}}}, 2), 1);
  EXPECT_EQ(gpu({{"process_gpu_usage", {0.4, 1.9}}, {"process_gpu_utilized", {3, 4}}}, 8), 4);
  EXPECT_EQ(gpu({{"process_gpu_vram_mib", {1, 500}}}, 1), 1);
  EXPECT_EQ(gpu({}, 2), std::nullopt);  // there are some, and they were not read: nothing is guessed
}

TEST(Advice, LinesToPaste) {
  AdvisedRuns runs;
  runs.add(3.5, kGib, 100);
  Advice advice = runs.advice();
  using Lines = std::vector<std::string>;
  EXPECT_EQ(paste_lines(advice, "slurm"),
            (Lines{"#SBATCH --cpus-per-task=4", "#SBATCH --mem=1280M", "#SBATCH --time=00:03:00"}));
  EXPECT_EQ(paste_lines(advice, "kubernetes"),
            Lines{"resources: {requests: {cpu: \"4\", memory: 1280Mi}, limits: {cpu: \"4\", memory: 1280Mi}}"});
  EXPECT_EQ(paste_lines(advice, "nextflow"), Lines{"process { cpus = 4; memory = '1280 MB' }"});
  EXPECT_EQ(paste_lines(advice, "snakemake"), (Lines{"threads: 4", "resources: mem_mb=1343"}));
  EXPECT_EQ(paste_lines(advice, "wdl"), Lines{"runtime { cpu: 4 memory: \"1280 MiB\" }"});
  EXPECT_EQ(paste_lines(advice, "docker"), Lines{"docker run --cpus 4 --memory 1280m"});
  EXPECT_EQ(paste_lines(advice, "lsf"), Lines{});
  Advice bare = advice;
  bare.memory.advised.reset();
  EXPECT_EQ(paste_lines(bare, "snakemake"), Lines{"threads: 4"});
  advice.gpu.advised = 2;
  EXPECT_EQ(paste_lines(advice, "slurm").back(), "#SBATCH --gpus=2");
  EXPECT_EQ(paste_lines(advice, "docker"), Lines{"docker run --cpus 4 --memory 1280m --gpus 2"});
  advice.refused = "no";
  EXPECT_EQ(paste_lines(advice, "slurm"), Lines{});
}

TEST(Advice, ADamagedFileDoesNoHarm) {
  AdvisedRuns runs;
  Input& input = runs.add(1e300, std::numeric_limits<int64_t>::max());
  input.stored.statistics[1].second.max = 1e300;
  const Advice advice = runs.advice();
  EXPECT_GT(*advice.cpu.advised, 0);
  EXPECT_GT(*advice.memory.advised, 0);
  EXPECT_LT(advice_text(advice, false).size(), 600u);
}

}  // namespace
}  // namespace tacho
