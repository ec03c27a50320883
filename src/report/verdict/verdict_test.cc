#include "report/verdict/verdict.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/store/run_reader.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kNames = [] {
  std::vector<std::string> names{"timestamp"};
  for (const Source source : {Source::process_cpu, Source::threads,     Source::own_cpu,       Source::own_memory,
                              Source::own_io,      Source::waits_cpu,   Source::waits_disk,    Source::waits_network,
                              Source::waits_lock,  Source::waits_child, Source::waits_pipe,    Source::waits_sleep,
                              Source::waits_gpu,   Source::waits_idle,  Source::waits_other,   Source::gpus_used,
                              Source::gpus_busy,   Source::sm_active,   Source::job_sm_active, Source::job_dram_active})
    names.emplace_back(column_of(source));
  return names;
}();

// Rows of known classes: d disk, n network, c cpu, s single thread, w waiting (sleep), p waiting (pipe), . none,
// x without threads; G a busy GPU of the job, g the same without GPM, l one that was lost, o somebody's.
Row lettered_row(char letter, double at_s, double seconds = 1) {
  Row row;
  row.interval_ns = static_cast<int64_t>(seconds * 1e9);
  row.cells.assign(kNames.size(), 0);
  row.cells[0] = at_s;
  row.cells[2] = letter == 'x' ? 0 : 1;
  const auto set = [&](std::string_view name, double value) {
    for (size_t i = 0; i < kNames.size(); ++i)
      if (kNames[i] == name) row.cells[i] = value;
  };
  set("process_cpu_usage", letter == 'c' ? 4 : letter == 's' ? 1 : letter == '.' ? 2 : 0.01);
  if (letter == 'd') set("cgroup_pressure_io_some", 0.5);
  if (letter == 'n') set("process_waits_network", 1);
  if (letter == 'w') set("process_waits_sleep", 1);
  if (letter == 'p') set("process_waits_pipe", 1);
  const bool told = letter == 'G' || letter == 'g', somebodys = letter == 'l' || letter == 'o';
  if (told) set("process_gpu_utilized", 1);
  if (somebodys) set("process_gpu_utilized", kAbsent);
  if (told || letter == 'o') set("system_gpu_utilized", 1);
  set("process_gpu_sm_active", letter == 'G' ? 0.9 : kAbsent);
  set("process_gpu_dram_active", letter == 'G' ? 0.7 : kAbsent);
  if (letter != 'G') set("system_gpu_sm_active", kAbsent);
  return row;
}

Run judged_run() {
  Run run;
  run.id = "20261118-aaaa";
  run.mode = "run";
  run.host.host_vcpus = 4;
  run.method.cpu = "cgroup";
  run.method.waits = "syscall";
  run.outcome.state = RunState::finished;
  return run;
}

Schema lettered_schema() {
  Schema schema;
  for (const std::string& name : kNames) {
    Column column = kTimestampColumn;
    column.name = name;
    schema.push_back(column);
  }
  return schema;
}

Verdict verdict_for(std::string_view letters, const Run& run = judged_run()) {
  VerdictFold fold(lettered_schema());
  double at_s = 1000;
  for (const char letter : letters) fold.add(lettered_row(letter, ++at_s), JudgedRun::of(run));
  return fold.verdict(run);
}

TEST(Verdict, TheLargestShareFromSixTenthsOn) {
  const Verdict clear = verdict_for("dddddddddd");
  EXPECT_EQ(clear.judgement.verdict, "disk");
  EXPECT_EQ(clear.judgement.detail, "latency");
  EXPECT_EQ(clear.judgement.share, 1);
  EXPECT_EQ(clear.judgement.confidence, Confidence::high);
  EXPECT_TRUE(clear.missing.empty()) << clear.missing[0];
  const Verdict most = verdict_for("ddddddnnnn");
  EXPECT_EQ(most.judgement.verdict, "disk");
  EXPECT_EQ(most.judgement.confidence, Confidence::medium);
  EXPECT_EQ(verdict_for("ddddddddnn").judgement.confidence, Confidence::high);
  EXPECT_EQ(verdict_for("dddddddnnn").judgement.confidence, Confidence::medium);
}

TEST(Verdict, MixedBelow) {
  const Judgement half = verdict_for("dddddnnnnn").judgement;
  EXPECT_EQ(half.verdict, "mixed");
  EXPECT_EQ(half.detail, "disk+network");
  EXPECT_EQ(half.share, 1);
  EXPECT_EQ(half.confidence, Confidence::high);
  const Judgement larger_first = verdict_for("dddnnnnnss").judgement;
  EXPECT_EQ(larger_first.detail, "network+disk");
  EXPECT_EQ(larger_first.share, 0.8);
  const Judgement many = verdict_for("dnscwdnscw").judgement;
  EXPECT_EQ(many.verdict, "mixed");
  EXPECT_EQ(many.confidence, Confidence::low);
  EXPECT_FALSE(verdict_for("dddddnnnnn").evidence.empty());
}

TEST(Verdict, TooFewRowsWithAClass) {
  const Verdict few = verdict_for("ddddxxxxxx");
  EXPECT_EQ(few.judgement.verdict, "unknown");
  EXPECT_EQ(few.judgement.share, 0);
  EXPECT_EQ(few.judgement.confidence, Confidence::low);
  EXPECT_EQ(verdict_for("dddddx").judgement.verdict, "disk");
  EXPECT_EQ(verdict_for("dddddx").judgement.share, 1);  // the closing row has no share
  EXPECT_EQ(verdict_for("").judgement.verdict, "unknown");
}

TEST(Verdict, TimeWeighsNotRows) {
  VerdictFold fold(lettered_schema());
  const auto run = judged_run();
  for (int i = 0; i < 9; ++i) fold.add(lettered_row('n', 1001 + i, 0.1), JudgedRun::of(run));
  fold.add(lettered_row('d', 1011, 10), JudgedRun::of(run));
  EXPECT_EQ(fold.verdict(run).judgement.verdict, "disk");
}

TEST(Verdict, DetailWithTheMostTime) {
  EXPECT_EQ(verdict_for("wwwpppppp").judgement.detail, "pipe");
  EXPECT_EQ(verdict_for("sssss").judgement.detail, "");
}

TEST(Verdict, EndedForMemory) {
  auto run = judged_run();
  run.outcome.oom_killed = true;
  run.outcome.state = RunState::failed;
  run.totals.memory_peak_bytes = 100 << 20;
  const Verdict ended = verdict_for("cc", run);
  EXPECT_EQ(ended.judgement.verdict, "memory");
  EXPECT_EQ(ended.judgement.detail, "oom");
  EXPECT_EQ(ended.judgement.confidence, Confidence::high);
  EXPECT_FALSE(ended.evidence.empty());
  EXPECT_EQ(verdict_line(ended.judgement), "limited by memory (oom) (confidence high; tacho why tells more)");
  EXPECT_TRUE(verdict_text(ended, false).starts_with("This run was limited by memory (oom) (confidence: high).\n"));
  run.outcome.state = RunState::finished;  // a child was killed, and the job did without it
  EXPECT_EQ(verdict_for("cccccc", run).judgement.verdict, "cpu");
  // Nor did it end a job that the time limit or another signal ended.
  run.outcome.state = RunState::failed;
  run.outcome.timed_out = true;
  EXPECT_EQ(verdict_for("cccccc", run).judgement.verdict, "cpu");
  run.outcome.timed_out = false;
  run.outcome.signal = 15;
  EXPECT_EQ(verdict_for("cccccc", run).judgement.verdict, "cpu");
  run.outcome.signal = 9;
  EXPECT_EQ(verdict_for("cccccc", run).judgement.verdict, "memory");
}

TEST(Verdict, OneLowerWhereASourceIsMissing) {
  auto run = judged_run();
  run.method.waits = "wchan";
  EXPECT_EQ(verdict_for("dddddddddd", run).judgement.confidence, Confidence::medium);
  EXPECT_EQ(verdict_for("ddddddnnnn", run).judgement.confidence, Confidence::low);
  ASSERT_EQ(verdict_for("dddddddddd", run).missing.size(), 1u);
  EXPECT_NE(verdict_for("dddddddddd", run).missing[0].find("syscall"), std::string::npos);
  run = judged_run();
  run.limits.cpu_quota_cores = 4;
  ASSERT_EQ(verdict_for("cccccccccc", run).missing.size(), 1u);
  EXPECT_NE(verdict_for("cccccccccc", run).missing[0].find("throttl"), std::string::npos);
  run = judged_run();
  run.method.cpu = "subreaper";
  const Verdict shared = verdict_for("cccccccccc", run);
  ASSERT_EQ(shared.missing.size(), 1u);
  EXPECT_NE(shared.missing[0].find("pressure"), std::string::npos);
  EXPECT_EQ(shared.judgement.verdict, "cpu");
  EXPECT_EQ(shared.judgement.confidence, Confidence::medium);
}

// A file of rows does not tell how many cores there were: all of them may have been busy.
TEST(Verdict, WithoutTheNumberOfCoresNothingIsCertain) {
  tacho::Run run;
  const Verdict verdict = verdict_for("cccccccccc", run);
  EXPECT_NE(verdict.judgement.confidence, Confidence::high);
  ASSERT_EQ(verdict.missing.size(), 1u);
  EXPECT_NE(verdict.missing[0].find("cores"), std::string::npos);
}

TEST(Verdict, WhatIsNotKnownOfGpus) {
  const auto missing = [](std::string_view letters) {
    const Verdict verdict = verdict_for(letters);
    return verdict.missing.empty() ? std::string() : verdict.missing[0];
  };
  const Verdict busy = verdict_for("GGGGGGGGGG");
  EXPECT_EQ(busy.judgement.verdict, "gpu_compute");
  EXPECT_EQ(busy.judgement.confidence, Confidence::high);
  ASSERT_EQ(busy.evidence.size(), 1u);
  EXPECT_EQ(busy.evidence[0].metric, "process_gpu_sm_active");
  ASSERT_EQ(busy.against.size(), 1u);  // it may be the memory that its kernels wait for
  EXPECT_EQ(busy.against[0].metric, "process_gpu_dram_active");
  EXPECT_EQ(missing("gggGGGGGGG"), "");  // its first figure takes a while
  EXPECT_NE(missing("gggggggggg").find("GPM"), std::string::npos);
  EXPECT_EQ(verdict_for("gggggggggg").judgement.confidence, Confidence::medium);
  EXPECT_NE(missing("GGllllllll").find("did not tell any more"), std::string::npos);
  EXPECT_EQ(missing("llllGGGGGGGGG"), "");  // the driver was still starting
  EXPECT_NE(missing("oooooooooo").find("whose GPU"), std::string::npos);
  EXPECT_NE(verdict_for("oooooooooo").judgement.confidence, Confidence::high);
  EXPECT_EQ(missing("ssssssssss"), "");
}

TEST(Verdict, EvidenceIsOfTheClassesRows) {
  const Verdict verdict = verdict_for("ddddddddss");
  ASSERT_FALSE(verdict.evidence.empty());
  EXPECT_EQ(verdict.evidence[0].metric, "cgroup_pressure_io_some");
  EXPECT_DOUBLE_EQ(verdict.evidence[0].value, 0.5);
  EXPECT_DOUBLE_EQ(verdict.evidence[0].threshold, 0.2);
  ASSERT_EQ(verdict.against.size(), 1u);
  EXPECT_EQ(verdict.against[0].metric, "process_cpu_usage");
  EXPECT_NE(verdict.against[0].text.find("20 %"), std::string::npos);
  const Verdict cpu = verdict_for("cccccc");
  EXPECT_DOUBLE_EQ(cpu.evidence[0].threshold, 3.6);
  const Verdict asleep = verdict_for("wwwwww");
  ASSERT_EQ(asleep.evidence.size(), 2u);
  EXPECT_EQ(asleep.evidence[1].metric, "process_waits_sleep");
  EXPECT_TRUE(is_absent(asleep.evidence[1].threshold));
  EXPECT_TRUE(verdict_for("......").evidence.empty());
  // What did not hold in the rows of its class is no evidence of it, however it was thinned by the others.
  const Verdict mixed = verdict_for("dddddnnnnn");
  ASSERT_EQ(mixed.evidence.size(), 2u);
  EXPECT_EQ(mixed.evidence[1].metric, "process_waits_network");
  EXPECT_DOUBLE_EQ(mixed.evidence[1].value, 0.5);
  const Verdict thin = verdict_for("dddddcccccnnnnnssssswwwww..");
  for (const Evidence& one : thin.evidence) EXPECT_NE(one.metric, "process_waits_disk");
}

TEST(Verdict, Words) {
  EXPECT_EQ(summary_words(verdict_for("dddddd").judgement), "limited by disk latency");
  EXPECT_EQ(summary_words(verdict_for("wwwwww").judgement), "waiting (sleep)");
  EXPECT_EQ(summary_words(verdict_for("dddnnn").judgement), "limited by disk and network");
  EXPECT_EQ(summary_words(verdict_for("ssssss").judgement), "limited by single thread");
  EXPECT_EQ(summary_words(verdict_for("......").judgement), "");
  EXPECT_EQ(summary_words(verdict_for("dd").judgement), "");
  EXPECT_EQ(summary_words(verdict_for("dnscwdnscw").judgement), "");  // low
  EXPECT_EQ(summary_words(verdict_for("dddwww").judgement), "limited by disk in part");
  EXPECT_TRUE(verdict_line(verdict_for("dddnnn").judgement).starts_with("limited by disk and network ("));
  EXPECT_TRUE(verdict_line(verdict_for("dddwww").judgement).starts_with("partly limited by disk, partly waiting ("));
  const std::string idle = verdict_line(verdict_for("www...").judgement);
  EXPECT_TRUE(idle.starts_with("partly waiting, partly limited by nothing (")) << idle;
  for (const char* letters : {"dddddd", "wwwwww", "dddnnn", "......", "dd", "ddddddddss"}) {
    const std::string text = verdict_text(verdict_for(letters), false);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_GE(lines, 3) << text;
    EXPECT_LE(lines, 6) << text;
  }
}

TEST(Verdict, JsonHasEveryKey) {
  const Json json = Json::parse(verdict_json(verdict_for("dddsssnnnwww.ccc")));
  for (const char* key : {"run", "verdict", "detail", "confidence", "share", "classes", "evidence", "against",
                          "missing", "phases", "advice"})
    EXPECT_TRUE(json.contains(key)) << key;
  double sum = 0;
  for (const auto& [name, share] : json["classes"].items()) {
    EXPECT_GT(share.get<double>(), 0) << name;
    sum += share.get<double>();
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_TRUE(Json::parse(verdict_json(verdict_for("ssssss")))["detail"].is_null());
}

class StoredVerdict : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "verdict-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Input stored(std::string_view letters, const std::string& phases) {
    std::ofstream rows(folder_ + "/metrics.csv");
    for (size_t i = 0; i < kNames.size(); ++i) rows << (i > 0 ? "," : "") << kNames[i];
    rows << "\n";
    double at_s = 1000;
    for (const char letter : letters) {
      const Row row = lettered_row(letter, ++at_s);
      for (size_t i = 0; i < row.cells.size(); ++i) rows << (i > 0 ? "," : "") << row.cells[i];
      rows << "\n";
    }
    Input input;
    input.stored.run = judged_run();
    input.stored.run.interval_ns = 1'000'000'000;
    input.stored.json = R"({"id":"a","phases":)" + phases + "}";
    input.stored.run.phases = parse_run_json(input.stored.json)->run.phases;
    input.rows_path = folder_ + "/metrics.csv";
    return input;
  }
  std::string folder_;
};

TEST_F(StoredVerdict, PhasesAreJudgedByTheRowsThatEndInThem) {
  const Input input = stored("ddddddnnnnnn", R"([
    {"name":"load","started":1000,"ended":1006,"seconds":6},
    {"name":"send","started":1006,"ended":1012,"seconds":6},
    {"name":"short","started":1012,"ended":1013,"seconds":1}, 7, {"name":5}, {"started":1}])");
  const auto verdict = verdict_of(input);
  ASSERT_TRUE(verdict) << verdict.error().message();
  EXPECT_EQ(verdict->judgement.detail, "disk+network");
  ASSERT_EQ(verdict->phases.size(), 3u);
  EXPECT_EQ(verdict->phases[0].judgement.verdict, "disk");
  EXPECT_EQ(verdict->phases[0].judgement.share, 1);
  EXPECT_EQ(verdict->phases[1].judgement.verdict, "network");
  EXPECT_EQ(verdict->phases[2].judgement.verdict, "unknown");
  EXPECT_EQ(Json::parse(verdict_json(*verdict))["phases"][1]["classes"]["network"], 1.0);
}

TEST_F(StoredVerdict, DamagedRunJson) {
  for (const char* phases : {"null", "{}", "[[]]", "[{\"name\":\"a\",\"started\":\"x\"}]"}) {
    const auto verdict = verdict_of(stored("dddddd", phases));
    ASSERT_TRUE(verdict);
    EXPECT_TRUE(verdict->phases.empty()) << phases;
    EXPECT_EQ(verdict->judgement.verdict, "disk");
  }
}

}  // namespace
}  // namespace tacho
