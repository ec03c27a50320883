#include "report/summary_text.h"

#include <gtest/gtest.h>

#include "report/store/human.h"
#include "support/sample_run.h"

namespace tacho {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Schema schema_with(std::initializer_list<std::string_view> names) {
  Schema schema;
  for (const std::string_view name : names)
    schema.push_back({static_cast<int>(schema.size()) + 1, name, "", 3,
                      name.ends_with("_bytes") ? Rule::delta : Rule::level, 0, 1, "", nullptr});
  return schema;
}

Summary summary_of(std::initializer_list<std::pair<std::string_view, double>> values) {
  Schema schema = schema_with({"timestamp"});
  Row row;
  row.interval_ns = 724 * kSecond;
  row.cells = {0};
  for (const auto& [name, value] : values) {
    schema.push_back(schema_with({name})[0]);
    schema.back().position = static_cast<int>(schema.size());
    row.cells.push_back(value);
  }
  Summary summary;
  summary.begin(schema);
  summary.add(row);
  return summary;
}

tacho::Run ended(int exit_code = 0) {
  tacho::Run run;
  run.id = "20261115-a1b2";
  run.mode = "run";
  run.host.host_vcpus = 8;
  run.host.host_memory_mib = 32768;
  run.outcome.state = exit_code == 0 ? RunState::finished : RunState::failed;
  run.outcome.exit_code = exit_code;
  run.outcome.duration_ns = 724 * kSecond;
  return run;
}

TEST(SummaryLine, AsInTheDocumentation) {
  auto run = ended();
  run.host.host_gpu_count = 1;
  const Summary summary =
      summary_of({{"process_cpu_usage", 3.1}, {"process_memory_mib", 10035}, {"process_gpu_usage", 0.71}});
  EXPECT_EQ(summary_line(run, summary, false),
            "tacho: ok 12m04s · cpu 3.1 of 8 cores · memory peak 9.8 of 32 GiB · gpu 71% · run 20261115-a1b2");
}

TEST(SummaryLine, WhatIsUnknownIsLeftOut) {
  tacho::Run run = ended();
  run.host = {};
  run.id = "";
  EXPECT_EQ(summary_line(run, Summary{}, false), "tacho: ok 12m04s");
  EXPECT_EQ(summary_line(run, summary_of({{"process_cpu_usage", 0.04}, {"process_memory_mib", kAbsent}}), false),
            "tacho: ok 12m04s · cpu 0.04 cores");
}

TEST(SummaryLine, FailuresSayWhatHappened) {
  auto run = ended(3);
  EXPECT_EQ(summary_line(run, Summary{}, false), "tacho: exit 3 after 12m04s · run 20261115-a1b2");
  run = ended(137);
  run.outcome.signal = 9;
  EXPECT_EQ(outcome_words(run), "killed by SIGKILL");
  run.outcome.oom_killed = true;
  EXPECT_EQ(summary_line(run, Summary{}, false),
            "tacho: killed by SIGKILL (out of memory) after 12m04s · run 20261115-a1b2");
  run.outcome.signal = 40;
  EXPECT_EQ(outcome_words(run), "killed by signal 40 (out of memory)");
  run = ended(124);
  run.outcome.signal = 15;
  run.outcome.timed_out = true;
  run.outcome.duration_ns = 300 * kSecond;
  EXPECT_EQ(summary_line(run, Summary{}, false), "tacho: timed out after 5m · run 20261115-a1b2");
  run = ended(1);
  run.outcome.oom_killed = true;
  EXPECT_EQ(outcome_words(run), "exit 1 (out of memory)");
}

TEST(SummaryLine, TheContainersLimitWinsWhereItIsLower) {
  auto run = ended();
  run.limits.cpu_quota_cores = 2.5;
  run.limits.memory_limit_bytes = int64_t{4} << 30;
  const Summary summary = summary_of({{"process_cpu_usage", 1.25}, {"process_memory_mib", 512}});
  EXPECT_EQ(summary_line(run, summary, false),
            "tacho: ok 12m04s · cpu 1.2 of 2.5 cores · memory peak 512 MiB of 4 GiB · run 20261115-a1b2");
  run.limits.cpu_quota_cores = 100;
  run.limits.cpuset_cpus = 1;
  run.limits.memory_limit_bytes = int64_t{400} << 30;
  EXPECT_EQ(summary_line(run, summary, false),
            "tacho: ok 12m04s · cpu 1.2 of 1 core · memory peak 512 MiB of 32 GiB · run 20261115-a1b2");
}

TEST(SummaryLine, ExactTotalsBeatSamples) {
  auto run = ended();
  run.totals.cpu_user_s = 724;
  run.totals.cpu_system_s = 362;
  run.totals.memory_peak_bytes = int64_t{2} << 30;
  EXPECT_EQ(summary_line(run, summary_of({{"process_cpu_usage", 3}, {"process_memory_mib", 512}}), false),
            "tacho: ok 12m04s · cpu 1.5 of 8 cores · memory peak 2 of 32 GiB · run 20261115-a1b2");
}

TEST(SummaryLine, WatchAndAttach) {
  auto run = ended();
  run.outcome.exit_code.reset();
  run.mode = "watch";
  run.host.host_gpu_count = 0;
  EXPECT_EQ(
      summary_line(
          run, summary_of({{"system_cpu_usage", 4}, {"system_memory_used_mib", 2048}, {"system_gpu_usage", 0}}), false),
      "tacho: watched 12m04s · cpu 4 of 8 cores · memory peak 2 of 32 GiB · run 20261115-a1b2");
  run.mode = "attach";
  EXPECT_EQ(summary_line(run, summary_of({{"process_cpu_usage", 4}}), false),
            "tacho: attached 12m04s · cpu 4 of 8 cores · run 20261115-a1b2");
}

TEST(SummaryLine, SeveralGpus) {
  auto run = ended();
  run.host.host_gpu_count = 8;
  EXPECT_EQ(summary_line(run, summary_of({{"process_gpu_usage", 2.34}}), false),
            "tacho: ok 12m04s · gpu 2.3 of 8 GPUs · run 20261115-a1b2");
}

TEST(SummaryLine, ColourOnlyWhenAsked) {
  EXPECT_EQ(summary_line(ended(3), Summary{}, false).find('\x1b'), std::string::npos);
  EXPECT_NE(summary_line(ended(3), Summary{}, true).find("\x1b[1;31mexit 3"), std::string::npos);
  EXPECT_NE(summary_line(ended(0), Summary{}, true).find("\x1b[1;32mok"), std::string::npos);
}

TEST(SummaryFull, HasALineForEverythingThatIsKnown) {
  ::setenv("TZ", "UTC", 1);
  auto run = sample_run();
  run.outcome.state = RunState::finished;
  run.outcome.exit_code = 0;
  run.outcome.duration_ns = 90 * kSecond;
  run.totals.cpu_system_s = 0.75;
  run.totals.io_read_bytes = 1536;
  const std::string text =
      summary_full(run, summary_of({{"process_cpu_usage", 0.04}, {"process_memory_mib", 100}}), false);
  EXPECT_EQ(text,
            "tacho: ok 1m30s\n"
            "  command    python3 train.py --epochs 3\n"
            "  job        train\n"
            "  team       vision\n"
            "  tags       b=2, a=1\n"
            "  folder     /data/job\n"
            "  started    2026-11-15 09:30:00 UTC\n"
            "  samples    1, one every 1s\n"
            "  cpu        0.04 of 2.5 cores on average, at most 0.04, 3.2s user, 750ms system\n"
            "  memory     peak 200 MiB of 32 GiB, 100 MiB on average\n"
            "  disk       1.5 KiB read\n"
            "  limits     2.5 cores of CPU time\n"
            "  measured   cpu by cgroup, memory by pss, disk by proc_io\n"
            "  note       memory of 1 process was not readable\n"
            "  run        20261115-a1b2");
}

TEST(SummaryFull, EnergyWhereItWasMeasured) {
  auto run = ended();
  const Summary summary = summary_of({{"process_cpu_usage", 1}});
  EXPECT_EQ(summary_full(run, summary, false).find("energy"), std::string::npos);
  run.energy.cpu_j = 12'345;
  EXPECT_NE(summary_full(run, summary, false).find("energy     12.3 kJ by CPUs and their memory\n"), std::string::npos);
  run.energy.gpu_j = 2.5e6;
  run.energy.job_j = 900;
  run.energy.co2_g = 0.26;
  EXPECT_NE(summary_full(run, summary, false)
                .find("energy     12.3 kJ by CPUs and their memory, 2.5 MJ by GPUs, of that 900 J for the job, 0.26 g "
                      "of CO2\n"),
            std::string::npos)
      << summary_full(run, summary, false);
}

TEST(SummaryFull, SaysWhetherOthersUsedTheMachine) {
  auto run = ended();
  const Summary busy = summary_of({{"process_cpu_usage", 1}, {"system_cpu_usage", 2}});
  const Summary alone = summary_of({{"process_cpu_usage", 1}, {"system_cpu_usage", 1}});
  EXPECT_NE(summary_full(run, busy, false).find("machine    shared (a guess: "), std::string::npos);
  EXPECT_NE(summary_full(run, alone, false).find("machine    dedicated (a guess: "), std::string::npos);
  run.hidden = {"host_server_allocation"};
  EXPECT_EQ(summary_full(run, busy, false).find("machine  "), std::string::npos);
}

TEST(SummaryFull, NothingActsOnTheTerminal) {
  auto run = ended();
  run.metadata.job_name = "a\x1b[2Jb\nc\xff";
  run.notes = {"the service said \x1b]0;title\x07"};
  const std::string text = summary_full(run, Summary{}, false);
  EXPECT_NE(text.find("a [2Jb c\xEF\xBF\xBD"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
}

TEST(SummaryFull, ShortIntervalsAreMilliseconds) {
  auto run = ended();
  run.interval_ns = 50'000'000;
  EXPECT_NE(summary_full(run, Summary{}, false).find("one every 50ms"), std::string::npos);
}

TEST(SummaryLine, ATimeIsNotCutButRounded) {
  EXPECT_EQ(duration_text(0.5015), "502ms");  // times 10^9 that is 501499999.99999994
  EXPECT_EQ(duration_text(-0.5015), "-502ms");
}

TEST(SummaryLine, OneCoreIsOne) {
  EXPECT_EQ(cores_text(1, kAbsent), "1 core");
  EXPECT_EQ(cores_text(0.98, kAbsent), "0.98 cores");
  EXPECT_EQ(cores_text(0.98, 1), "0.98 of 1 core");
  EXPECT_EQ(cores_text(1, 2.5), "1 of 2.5 cores");
}

TEST(CommandText, IsQuotedCutAndHarmless) {
  tacho::Run run;
  run.command = {"sh", "-c", "echo hi; exit 3"};
  EXPECT_EQ(command_text(run, 100), "sh -c 'echo hi; exit 3'");
  EXPECT_EQ(command_text(run, 8), "sh -c 'e…");
  run.command = {"printf", "\x1b[31m\n", "caf\xc3\xa9\xff"};
  EXPECT_EQ(command_text(run, 100), "printf ' [31m ' caf\xc3\xa9\xef\xbf\xbd");
  run.command = {"python3", "-c", "print('a b')"};
  EXPECT_EQ(command_text(run, 100), "python3 -c \"print('a b')\"") << "a shell reads the same words";
  run.hidden = {"command"};
  EXPECT_EQ(command_text(run, 100), "");
}

}  // namespace
}  // namespace tacho
