#include "sink/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "os/disk_full.h"
#include "os/line_file.h"
#include "support/sample_run.h"
#include "support/small_disk.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

constexpr const char* kHeader =
    "timestamp,system_processes,system_cpu_usage,system_net_recv_bytes,process_cpu_usage,process_memory_mib\n";

struct Recording {
  tacho::Run run = sample_run();
  Summary summary;
  std::unique_ptr<Sink> sink;

  Status open(const std::string& dir) {
    summary.begin(sample_schema());
    auto opened = open_store(dir, run, summary);
    if (!opened) return opened.error();
    sink = std::move(*opened);
    return sink->begin(run, sample_schema());
  }
  Status add(const Row& row) {
    summary.add(row);
    return sink->write(row, nullptr);
  }
};

Json run_json(const std::string& folder) { return Json::parse(slurp(folder + "/run.json")); }

mode_t mode_of(const std::string& path) {
  struct stat info {};
  ::stat(path.c_str(), &info);
  return info.st_mode & 0777;
}

TEST(Store, LeavesRunJsonAndMetricsForTheOwnerOnly) {
  const TempDir dir;
  Recording recording;
  ASSERT_TRUE(recording.open(dir / "state/tacho/runs"));
  const std::string folder = dir / "state/tacho/runs/" + recording.run.id;
  EXPECT_EQ(run_json(folder)["state"], "running");  // before any row
  ASSERT_TRUE(recording.add(sample_row(0)));
  ASSERT_TRUE(recording.add(sample_row(1, kAbsent)));
  EXPECT_EQ(slurp(folder + "/metrics.csv"), std::string(kHeader) + "1794735001.250,321,2.2500,1000,1.5000,128.000\n" +
                                                "1794735002.250,321,2.2500,1000,,128.000\n");
  recording.run.outcome.state = RunState::finished;
  recording.run.outcome.exit_code = 0;
  ASSERT_TRUE(recording.sink->end(recording.run));
  EXPECT_EQ(run_json(folder)["outcome"]["exit_code"], 0);
  EXPECT_EQ(run_json(folder)["samples"], 2);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"metrics.csv", "run.json"}));
  EXPECT_EQ(mode_of(folder), 0700u);
  EXPECT_EQ(mode_of(folder + "/run.json"), 0600u);
  EXPECT_EQ(mode_of(folder + "/metrics.csv"), 0600u);
}

// A text that was longer than usual is not overwritten by a shorter one, whose end would be the old one's.
TEST(Store, ALongTextIsFollowedByAShortOne) {
  const TempDir dir;
  Recording recording;
  recording.run.notes = {std::string(5000, 'x')};
  ASSERT_TRUE(recording.open(dir / "runs"));
  const std::string folder = dir / "runs/" + recording.run.id;
  for (int i = 0; i < 6; ++i) {
    if (i == 2) recording.run.notes.clear();
    if (i == 4) recording.run.notes = {std::string(5000, 'y')};
    ASSERT_TRUE(recording.add(sample_row(i)));
    const Json json = Json::parse(slurp(folder + "/run.json"), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << i;
    EXPECT_EQ(json["samples"], i + 1);
  }
}

TEST(Store, IdsAreADateAndHexDigitsAndDoNotCollide) {
  EXPECT_TRUE(make_run_id(kSampleStartNs).starts_with("20261115-"));
  EXPECT_EQ(make_run_id(kSampleStartNs).size(), 21u);
  const TempDir dir;
  std::set<std::string> ids;
  for (int i = 0; i < 300; ++i) {
    Recording recording;
    ASSERT_TRUE(recording.open(dir.path()));
    ids.insert(recording.run.id);
  }
  EXPECT_EQ(ids.size(), 300u);
}

TEST(Store, RunJsonIsUpToDateAtEveryRow) {
  const TempDir dir;
  Recording recording;
  ASSERT_TRUE(recording.open(dir.path()));
  const std::string folder = dir / recording.run.id;
  for (int64_t i = 0; i < 50; ++i) {
    Row row = sample_row(i);
    recording.run.interval_ns = i < 25 ? 50'000'000 : 10'000'000;
    row.interval_ns = recording.run.interval_ns - (i % 2) * 6'000'000;  // one came late, so the next one is short
    ASSERT_TRUE(recording.add(row));
    // Of a hundred rows a second those of the last 50 ms may be missing.
    EXPECT_GE(run_json(folder)["samples"].get<int64_t>(), i + 1 - (i < 25 ? 0 : 7));
  }
}

TEST(Store, AKilledTachoLeavesEveryRowAndAValidRunJson) {
  for (int round = 0; round < 5; ++round) {
    const TempDir dir;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Recording recording;
      if (!recording.open(dir.path())) ::_exit(1);
      for (int64_t i = 0;; ++i) {
        if (!recording.add(sample_row(i))) ::_exit(2);
        if (::write(ends[1], &i, sizeof i) != sizeof i) ::_exit(3);
      }
    }
    ::close(ends[1]);
    int64_t last = -1;
    while (last < 200 + round * 37)
      if (::read(ends[0], &last, sizeof last) != sizeof last) break;
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    while (::read(ends[0], &last, sizeof last) == sizeof last) {}
    ::close(ends[0]);
    const std::string folder = std::filesystem::directory_iterator(dir.path())->path();
    const std::string text = slurp(folder + "/metrics.csv");
    EXPECT_GE(std::count(text.begin(), text.end(), '\n') - 1, last + 1);
    EXPECT_TRUE(text.ends_with("\n"));
    const Json json = run_json(folder);
    EXPECT_EQ(json["state"], "running");
    EXPECT_GE(json["samples"].get<int64_t>(), last + 1);
    EXPECT_EQ(probe_lock(folder + "/metrics.csv"), LockState::free);
  }
}

TEST(Store, TheLockIsHeldWhileItRecords) {
  const TempDir dir;
  Recording recording;
  ASSERT_TRUE(recording.open(dir.path()));
  const std::string rows = dir / recording.run.id + "/metrics.csv";
  EXPECT_EQ(probe_lock(rows), LockState::held);
  recording.sink.reset();
  EXPECT_EQ(probe_lock(rows), LockState::free);
}

TEST(Store, AFullDiskIsReportedAndTriedAgain) {
  const SmallDisk disk("40k");
  if (!disk.is_mounted()) GTEST_SKIP() << "may not mount";
  Recording recording;
  ASSERT_TRUE(recording.open(disk.path()));
  const std::string folder = disk.path() + "/" + recording.run.id;
  int failures = 0;
  int64_t index = 0;
  for (; index < 1500; ++index) failures += recording.add(sample_row(index)) ? 0 : 1;
  EXPECT_GT(failures, 0);
  EXPECT_NO_THROW(run_json(folder));
  EXPECT_TRUE(slurp(folder + "/metrics.csv").ends_with("\n"));
  ASSERT_TRUE(disk.resize("1m"));
  EXPECT_TRUE(recording.add(sample_row(index)));
  EXPECT_TRUE(slurp(folder + "/metrics.csv").ends_with("1794736501.250,321,2.2500,1000,1.5000,128.000\n"));
  EXPECT_EQ(run_json(folder)["samples"], 1501);
}

TEST(Store, ADiskThatIsFullFromTheStartKeepsNoHalfRun) {
  const SmallDisk disk("16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "may not mount";
  disk.fill(16 * 1024);
  Recording recording;
  const Status status = recording.open(disk.path());
  ASSERT_FALSE(status);
  EXPECT_TRUE(is_disk_full(status.error())) << status.error().message();
  EXPECT_EQ(status.error().path, disk.path());  // none that only tacho itself can follow
  EXPECT_EQ(recording.run.id, "");
  std::filesystem::remove(disk.path() + "/fill");
  EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
}

TEST(Store, AnUnusablePlaceSaysWhatToDo) {
  Recording recording;
  const Status status = recording.open("/proc/no/such/store");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("--no-store"), std::string::npos);
  EXPECT_FALSE(is_disk_full(status.error()));
}

}  // namespace
}  // namespace tacho
