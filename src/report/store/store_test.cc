#include "report/store/store.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/csv.h"
#include "codec/run_json.h"
#include "os/line_file.h"
#include "os/unique.h"
#include "report/store/facts.h"
#include "report/store/newest.h"
#include "report/store/run_names.h"
#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string rows_text(int64_t rows) {
  Writer out;
  write_csv_header(out, sample_schema());
  for (int64_t i = 0; i < rows; ++i) write_csv_row(out, sample_schema(), sample_row(i, static_cast<double>(i)));
  return std::string(out.view());
}

// A stored run as a tacho leaves it that saw `rows` rows, `counted` of them in run.json.
std::string put_run(const TempDir& dir, tacho::Run run, int64_t rows, int64_t counted) {
  const std::string folder = dir / run.id;
  std::filesystem::create_directory(folder);
  Summary summary;
  summary.begin(sample_schema());
  for (int64_t i = 0; i < counted; ++i) summary.add(sample_row(i, static_cast<double>(i)));
  summary.raise_max("process_memory_mib", 999);
  Writer out;
  write_run_json(out, run, summary);
  spill(folder + "/run.json", out.view());
  spill(folder + "/metrics.csv", rows_text(rows));
  return folder;
}

tacho::Run finished(const std::string& id, int64_t after_s = 0) {
  auto run = sample_run();
  run.id = id;
  run.outcome.state = RunState::finished;
  run.outcome.exit_code = 0;
  run.outcome.started_realtime_ns += after_s * 1'000'000'000;
  run.outcome.finished_realtime_ns = run.outcome.started_realtime_ns + 3'000'000'000;
  run.outcome.duration_ns = 3'000'000'000;
  return run;
}

TEST(StoredRuns, EverythingWrittenIsReadBack) {
  const TempDir dir;
  auto run = finished("20261115-a1b2");
  run.outcome.state = RunState::failed;
  run.outcome.exit_code = 137;
  run.outcome.signal = 9;
  run.outcome.oom_killed = true;
  run.totals.io_write_bytes = 77;
  put_run(dir, run, 3, 3);
  const auto stored = find_run(dir.path(), "20261115-a1b2");
  ASSERT_TRUE(stored) << stored.error().message();
  const tacho::Run& read = stored->run;
  EXPECT_EQ(read.id, run.id);
  EXPECT_EQ(read.mode, "run");
  EXPECT_EQ(read.command, run.command);
  EXPECT_EQ(read.working_directory, run.working_directory);
  EXPECT_EQ(read.pid, run.pid);
  EXPECT_EQ(read.metadata.job_name, "train");
  EXPECT_EQ(read.metadata.tags, run.metadata.tags);
  EXPECT_EQ(read.host.host_hostname, "node7");
  EXPECT_EQ(read.host.host_vcpus, 8);
  EXPECT_FALSE(read.host.host_id);
  EXPECT_EQ(read.limits.cpu_quota_cores, 2.5);
  EXPECT_FALSE(read.limits.memory_limit_bytes);
  EXPECT_EQ(read.outcome.state, RunState::failed);
  EXPECT_EQ(read.outcome.exit_code, 137);
  EXPECT_EQ(read.outcome.signal, 9);
  EXPECT_EQ(read.outcome.oom_killed, true);
  EXPECT_EQ(read.outcome.started_realtime_ns, run.outcome.started_realtime_ns);
  EXPECT_EQ(read.outcome.finished_realtime_ns, run.outcome.finished_realtime_ns);
  EXPECT_EQ(read.outcome.duration_ns, run.outcome.duration_ns);
  EXPECT_EQ(read.interval_ns, run.interval_ns);
  EXPECT_EQ(read.method.cpu, "cgroup");
  EXPECT_EQ(read.totals.cpu_user_s, 3.25);
  EXPECT_EQ(read.totals.io_write_bytes, 77);
  EXPECT_EQ(read.notes, run.notes);
  EXPECT_EQ(stored->rows, 3);
  ASSERT_GE(stored->statistics.size(), 2u);
  EXPECT_EQ(stored->statistics[0].first, "timestamp");
  EXPECT_EQ(stored->statistics[0].second.sum, 3);
  EXPECT_EQ(stored->statistics[1].first, "system_processes");
}

TEST(StoredRuns, AWordThatIsARunAndAFolderHereIsNotGuessed) {
  const TempDir store, here;
  put_run(store, finished("20261115-a1b2c3d4e5f6"), 3, 3);
  put_run(here, finished("20261115-a1b2c3d4e5f6"), 3, 3);
  put_run(here, finished("a1b2"), 3, 3);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());
  const auto whole = find_run(store.path(), "20261115-a1b2c3d4e5f6"), part = find_run(store.path(), "a1b2");
  const auto in_store = find_run(here.path(), "20261115-a1b2c3d4e5f6");
  std::filesystem::current_path(before);
  ASSERT_FALSE(whole);
  EXPECT_NE(whole.error().message().find(store.path() + "/20261115-a1b2c3d4e5f6 or ./20261115-a1b2c3d4e5f6"),
            std::string::npos);
  ASSERT_FALSE(part);
  EXPECT_NE(part.error().message().find("20261115-a1b2, ./a1b2"), std::string::npos);
  EXPECT_TRUE(in_store);  // both are the same folder
}

TEST(StoredRuns, AnAbandonedRunIsInterruptedAndFoldedAgain) {
  const TempDir dir;
  const std::string folder = put_run(dir, sample_run(), 5, 2);
  std::ofstream(folder + "/metrics.csv", std::ios::app) << "1794735006.250,32";  // torn by the kill
  const auto stored = find_run(dir.path(), "last");
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_EQ(stored->run.outcome.state, RunState::interrupted);
  EXPECT_EQ(stored->rows, 5);
  const OrderedJson json = OrderedJson::parse(stored->json);
  EXPECT_EQ(json["state"], "interrupted");
  EXPECT_EQ(json["outcome"]["state"], "interrupted");
  EXPECT_EQ(json["samples"], 5);
  EXPECT_DOUBLE_EQ(json["outcome"]["duration_s"].get<double>(), 5.0);
  EXPECT_DOUBLE_EQ(json["statistics"]["process_cpu_usage"]["mean"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(json["statistics"]["process_cpu_usage"]["max"].get<double>(), 4.0);
  EXPECT_DOUBLE_EQ(json["statistics"]["system_net_recv_bytes"]["sum"].get<double>(), 5000.0);
  EXPECT_DOUBLE_EQ(json["statistics"]["process_memory_mib"]["max"].get<double>(), 999.0);  // the high-water mark stays
  EXPECT_DOUBLE_EQ(json["statistics"]["process_memory_mib"]["min"].get<double>(), 128.0);
}

TEST(StoredRuns, TheTotalsOfAnAbandonedRunHoldItsLastRows) {
  const TempDir dir;
  auto run = sample_run();
  run.totals.cpu_user_s = 3.25;
  run.totals.cpu_system_s = 9;  // more than the rows have: of processes that lived between two of them
  run.totals.io_read_bytes = std::nullopt;
  run.totals.io_write_bytes = 77;
  const std::string folder = put_run(dir, run, 0, 0);
  spill(folder + "/metrics.csv",
        "timestamp,process_utime,process_stime,process_disk_read_bytes,process_disk_write_bytes\n"
        "1794735001.250,2,1,5,50\n1794735002.250,2,1,5,50\n1794735003.250,2,,5,50\n");
  auto listed = read_stored(folder);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->run.totals.cpu_user_s, 3.25);
  listed->short_id = "a1b2";
  read_last_rows(*listed);
  EXPECT_EQ(listed->short_id, "a1b2");
  EXPECT_EQ(listed->rows, 3);
  EXPECT_EQ(listed->run.totals.cpu_user_s, 6);
  EXPECT_EQ(listed->run.totals.cpu_system_s, 9);
  EXPECT_FALSE(listed->run.totals.io_read_bytes);
  EXPECT_EQ(listed->run.totals.io_write_bytes, 150);
  EXPECT_EQ(facts_of(*listed).cpu_mean, facts_of(*read_run(folder)).cpu_mean);
}

TEST(StoredRuns, ALockedRunIsAlive) {
  const TempDir dir;
  const std::string folder = put_run(dir, sample_run(), 0, 0);
  auto writer = LineFile::open(folder + "/metrics.csv");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->lock());
  EXPECT_EQ(find_run(dir.path(), "last")->run.outcome.state, RunState::running);
  *writer = LineFile();
  EXPECT_EQ(find_run(dir.path(), "last")->run.outcome.state, RunState::interrupted);
}

TEST(StoredRuns, NewestFirstAndRubbishSkipped) {
  const TempDir dir;
  put_run(dir, finished("20261115-ffff", 1), 1, 1);
  put_run(dir, finished("20261115-0000", 2), 1, 1);
  put_run(dir, finished("20261114-9999", -86400), 1, 1);
  std::filesystem::create_directory(dir / "empty");
  std::filesystem::create_directory(dir / "torn");
  spill(dir / "torn/run.json", R"({"id": "tor)");
  std::filesystem::create_directory(dir / "other");
  spill(dir / "other/run.json", R"([1, 2])");
  spill(dir / "file", "x");
  auto newest = NewestRuns::open(dir.path());
  ASSERT_TRUE(newest);
  std::vector<std::string> ids;
  while (const auto stored = newest->next()) ids.push_back(stored->run.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"20261115-0000", "20261115-ffff", "20261114-9999"}));
}

TEST(StoredRuns, NamesOfARun) {
  const TempDir dir;
  const std::string folder = put_run(dir, finished("20261115-a1b2"), 1, 1);
  put_run(dir, finished("20261115-a1ff", 5), 1, 1);
  for (const std::string& name : {std::string("20261115-a1b2"), std::string("20261115-a1b"), std::string("a1b2"),
                                  folder, folder + "/", folder + "/run.json"})
    EXPECT_EQ(find_run(dir.path(), name)->run.id, "20261115-a1b2") << name;
  EXPECT_EQ(find_run(dir.path(), "last")->run.id, "20261115-a1ff");
}

TEST(StoredRuns, APartOfAnIdIsEnough) {
  const TempDir dir;
  put_run(dir, finished("20261115-a1b2c3d4e5f6"), 1, 1);
  put_run(dir, finished("20261115-a1b2ffffffff", 5), 1, 1);
  for (const char* name : {"20261115-a1b2c", "b2c3", "c3d4e5f6", "a1b2c3d4e5f6"})
    EXPECT_EQ(find_run(dir.path(), name)->run.id, "20261115-a1b2c3d4e5f6") << name;
  EXPECT_EQ(find_run(dir.path(), "c3d").error().code, Code::gone);  // too short to be meant
  const auto several = find_run(dir.path(), "a1b2");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, Code::invalid);
  for (const char* shown : {"20261115-a1b2c", "20261115-a1b2f"})
    EXPECT_NE(several.error().hint.find(shown), std::string::npos) << several.error().hint;
}

TEST(StoredRuns, ByAgeAndByJobName) {
  const TempDir dir;
  const auto named = [](const std::string& id, const std::string& job, int64_t after_s) {
    auto run = finished(id, after_s);
    run.metadata.job_name = job;
    return run;
  };
  put_run(dir, named("20261115-000000000001", "train", 1), 1, 1);
  put_run(dir, named("20261115-000000000002", "train", 2), 1, 1);
  put_run(dir, named("20261115-000000000003", "eval", 3), 1, 1);
  put_run(dir, named("20261115-0000000face4", "face", 4), 1, 1);
  put_run(dir, named("20261115-000000000005", "face", 5), 1, 1);
  const auto id = [&](const char* name) {
    const auto found = find_run(dir.path(), name);
    return found ? found->run.id.substr(17) : found.error().message();
  };
  EXPECT_EQ(id("last"), "0005");
  EXPECT_EQ(id("last~0"), "0005");
  EXPECT_EQ(id("last~2"), "0003");
  EXPECT_EQ(id("last:train"), "0002");
  EXPECT_EQ(id("train"), "0002");
  EXPECT_EQ(id("eval"), "0003");
  EXPECT_EQ(id("last:face"), "0005");
  // A job is called as somebody likes, also like a path or a file that is not there.
  int count = 6;
  for (const char* name : {"team/train", "report.html", "run.csv", "lastly"}) {
    const std::string digits = "000" + std::to_string(count++);
    put_run(dir, named("20261114-00000000" + digits, name, 0), 1, 1);
    EXPECT_EQ(id(name), digits) << name;
  }
  // A job name that is a part of another run's id: never guessed.
  const auto several = find_run(dir.path(), "face");
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().code, Code::invalid);
  EXPECT_NE(several.error().hint.find("last:face"), std::string::npos);
  EXPECT_NE(several.error().hint.find("20261115-0000000f"), std::string::npos);
  EXPECT_EQ(find_run(dir.path(), "last~50").error().code, Code::gone);
  EXPECT_EQ(find_run(dir.path(), "last~x").error().code, Code::invalid);
  EXPECT_EQ(find_run(dir.path(), "last:nothing").error().code, Code::gone);
}

TEST(RunNames, AsShortAsIsUnique) {
  const std::vector<std::string> names{"odd", "20261115-beefbeefbeef", "20261115-a1b2c3ffffff", "20261115-a1b2c3d4e5f6",
                                       "20261115-a1b2"};
  EXPECT_EQ(shortest_unique(names, "20261115-beefbeefbeef"), "20261115-beef");
  EXPECT_EQ(shortest_unique(names, "20261115-a1b2c3d4e5f6"), "20261115-a1b2c3d");
  EXPECT_EQ(shortest_unique(names, "20261115-a1b2"), "20261115-a1b2");  // of 0.1.0: as it is
  EXPECT_EQ(shortest_unique(names, "odd"), "odd");
  EXPECT_EQ(shortest_unique({}, "20261115-0123456789ab"), "20261115-0123");
  // Whatever is shown finds the run, among random ones that are alike.
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i) many.push_back("20261115-00" + random_hex(2) + "00000000");
  std::sort(many.begin(), many.end(), std::greater<>());
  many.erase(std::unique(many.begin(), many.end()), many.end());
  for (const std::string& id : many) {
    const std::string shown = shortest_unique(many, id);
    EXPECT_EQ(
        std::count_if(many.begin(), many.end(), [&](const std::string& other) { return other.starts_with(shown); }), 1)
        << id;
  }
}

TEST(StoredRuns, WrongNamesAreHelpedWith) {
  const TempDir dir;
  EXPECT_NE(find_run(dir.path(), "last").error().message().find("tacho run --"), std::string::npos);
  put_run(dir, finished("20261115-a1b2"), 1, 1);
  put_run(dir, finished("20261115-a1ff", 5), 1, 1);
  EXPECT_NE(find_run(dir.path(), "20261115-a1b3").error().message().find("20261115-a1b2"), std::string::npos);
  EXPECT_NE(find_run(dir.path(), "xyz").error().message().find("20261115-a1ff"), std::string::npos);
  const auto several = find_run(dir.path(), "2026");
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message().find("20261115-a1b2"), std::string::npos);
  EXPECT_FALSE(find_run(dir.path(), ""));
  EXPECT_FALSE(find_run(dir.path(), "/no/such/folder"));
  spill(dir / "20261115-a1b2/run.json", "{");
  EXPECT_NE(find_run(dir.path(), "20261115-a1b2").error().message().find("metrics.csv"), std::string::npos);
}

TEST(StoredRuns, WrongTypesAndNumbersAreLeftOut) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "x");
  spill(dir / "x/run.json",
        R"({"id": "x", "command": "text", "pid": "7", "tracker_pid": 1e300, "samples": -3.7, "interval_s": 1e99,
            "outcome": {"state": 3, "exit_code": 4294967296, "signal": "nine", "oom_killed": 1, "started_at": "yesterday", "duration_s": -5},
            "host": [], "metadata": {"job_name": 5, "tags": {"a": 1}}, "statistics": {"a": 1, "b": {"mean": "x", "max": 2}},
            "limits": null, "notes": [1, "two"]})");
  const auto stored = find_run(dir.path(), "x");
  ASSERT_TRUE(stored);
  EXPECT_TRUE(stored->run.command.empty());
  EXPECT_EQ(stored->run.pid, 0);
  EXPECT_EQ(stored->run.tracker_pid, 0);
  EXPECT_EQ(stored->run.interval_ns, 0);
  EXPECT_EQ(stored->run.outcome.state, RunState::interrupted);
  EXPECT_FALSE(stored->run.outcome.exit_code);
  EXPECT_FALSE(stored->run.outcome.signal);
  EXPECT_FALSE(stored->run.outcome.oom_killed);
  EXPECT_EQ(stored->run.outcome.duration_ns, 0);
  EXPECT_EQ(stored->run.notes, std::vector<std::string>{"two"});
  ASSERT_EQ(stored->statistics.size(), 2u);
  EXPECT_EQ(stored->statistics[1].second.max, 2);
  EXPECT_TRUE(is_absent(stored->statistics[1].second.mean));
}

TEST(Facts, TheMeanOfMillisecondsIsThatOfTheRows) {
  StoredRun stored;
  stored.run.mode = "run";
  stored.run.totals.cpu_user_s = 0.0006;
  stored.run.totals.cpu_system_s = 0;
  stored.run.outcome.duration_ns = 2'000'000;
  Statistics cpu;
  cpu.mean = cpu.max = 0.3842;
  stored.statistics = {{"process_cpu_usage", cpu}};
  EXPECT_EQ(facts_of(stored).cpu_mean, 0.3842);
  stored.run.outcome.duration_ns = 2'000'000'000;  // rows that cover less than the run
  stored.run.totals.cpu_user_s = 0.6;
  EXPECT_EQ(facts_of(stored).cpu_mean, 0.3);
}

TEST(Facts, ThePeakIsTheByteOfTheTotals) {
  StoredRun stored;
  stored.run.mode = "run";
  stored.run.totals.memory_peak_bytes = 1'892'352;  // 1.8047 MiB, which run.json's statistics have as 1.805
  Statistics memory;
  memory.max = 1.805;
  stored.statistics = {{"process_memory_mib", memory}};
  EXPECT_EQ(facts_of(stored).memory_peak_bytes, 1'892'352);
  stored.statistics[0].second.max = 1.807;  // rows that the totals lack
  EXPECT_NEAR(facts_of(stored).memory_peak_bytes, 1.807 * (1 << 20), 1);
}

TEST(DefaultStore, FollowsTheEnvironment) {
  ::unsetenv("TACHO_STORE");
  ::setenv("XDG_STATE_HOME", "/x/state", 1);
  EXPECT_EQ(default_store_dir(), "/x/state/tacho/runs");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_store_dir(), "/home/me/.local/state/tacho/runs");
  ::setenv("TACHO_STORE", "/s", 1);
  EXPECT_EQ(default_store_dir(), "/s");
  ::unsetenv("TACHO_STORE");
  ::unsetenv("XDG_STATE_HOME");
  ::unsetenv("HOME");
  EXPECT_TRUE(default_store_dir().starts_with("/var/tmp/tacho-"));
  ::setenv("HOME", "/root", 1);
}

}  // namespace
}  // namespace tacho
