// Whole monitors on a clock that jumps from deadline to deadline, and one sample over a captured kernel tree.
#include "monitor/monitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "monitor/task_sampler.h"
#include "spool/bq_record.h"
#include "spool/reader.h"
#include "support/replay_clock.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

// The text log of a monitor without BigQuery goes to stdout.
class SilentOutput {
 public:
  SilentOutput() : kept_(::dup(STDOUT_FILENO)) {
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    ::dup2(null.get(), STDOUT_FILENO);
  }
  ~SilentOutput() { ::dup2(kept_.get(), STDOUT_FILENO); }

 private:
  Fd kept_;
};

struct Written {
  std::vector<Json> runtime, metrics;
};

Written run(MonitorSettings settings, Clock& clock, const std::string& path) {
  settings.output = path;
  const SilentOutput silent;
  const auto status = run_monitor(settings, clock);
  EXPECT_TRUE(status);
  EXPECT_EQ(status.value_or(-1), 0);
  Written written;
  const std::string text = slurp(path);
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const Json entry = Json::parse(line);
    (entry["table"] == "runtime" ? written.runtime : written.metrics).push_back(entry["row"]);
  }
  return written;
}

TEST(TaskMonitor, SamplesNeitherDriftNorBurst) {
  const TempDir dir;
  ReplayClock clock(300);
  const int64_t start_ns = clock.realtime_ns();
  clock.sleep_after(100, 3600 * kNsPerSec);
  const Written written = run({}, clock, dir / "rows.jsonl");
  ASSERT_EQ(written.runtime.size(), 1u);
  ASSERT_GT(written.metrics.size(), 250u);
  EXPECT_LT(written.metrics.size(), 310u) << "an hour asleep is not made up for";
  for (size_t i = 0; i < written.metrics.size(); ++i) EXPECT_EQ(written.metrics[i]["seq"], i);
  EXPECT_EQ(written.metrics.back()["event"], "final");
  EXPECT_FALSE(written.metrics[0].contains("event"));
  Writer first, second;
  first.put(MicroTime(start_ns + 50 * kNsPerMs).view());
  second.put(MicroTime(start_ns + kNsPerSec).view());
  EXPECT_EQ(written.metrics[0]["timestamp"], first.view());
  EXPECT_EQ(written.metrics[1]["timestamp"], second.view());
}

TEST(TaskMonitor, ArraysKeepTheirLength) {
  const TempDir dir;
  MonitorSettings settings;
  settings.disk_mounts = {"/", dir / "nothing", dir.path()};
  ReplayClock clock(20);
  const Written written = run(settings, clock, dir / "rows.jsonl");
  EXPECT_EQ(written.runtime.at(0)["disk_mounts"], settings.disk_mounts);
  for (const Json& row : written.metrics)
    for (const char* name : {"disk_used_gb", "disk_read_iops", "disk_write_iops", "disk_ok", "disk_busy_percent"})
      EXPECT_EQ(row[name].size(), 3u) << name;
  EXPECT_EQ(written.metrics.back()["disk_ok"][1], false);
}

// Without a deliverer beside this test program, rows stay in the spool.
TEST(TaskMonitor, EveryRowIsInTheSpoolUnderItsTime) {
  const TempDir dir;
  MonitorSettings settings;
  settings.form = MonitorForm::image;
  settings.bigquery.dataset = "d";
  settings.given.project_id = "p";
  settings.spool_dir = dir / "spool";
  ReplayClock clock(50);
  const Written written = run(settings, clock, dir / "rows.jsonl");
  const auto folders = spool_folders(dir / "spool");
  ASSERT_EQ(folders.size(), 1u);
  SpoolRun spool(folders[0]);
  std::string tables;
  size_t at = 0;
  for (const Segment& segment : spool.sealed()) {
    const auto text = spool.read(segment);
    ASSERT_TRUE(text);
    BqRecords records(*text);
    for (BqRecord record; records.next(record);) {
      tables += record.table;
      if (record.table == 'R') continue;
      const Json row = Json::parse(record.row);
      Json told = written.metrics[at++];
      EXPECT_EQ(told["run_id"].get<std::string>().size(), 16u) << "in the spool meta.json has it";
      told.erase("run_id");
      EXPECT_EQ(row, told);
      Writer time;
      time.put(MicroTime(record.time_us * kNsPerUs).view());
      EXPECT_EQ(row["timestamp"], time.view());
    }
  }
  EXPECT_EQ(tables, "R" + std::string(written.metrics.size() - 1, 'M') + "E");
  const Json meta = Json::parse(slurp(folders[0] + "/meta.json"));
  EXPECT_EQ(meta["ended"], true);
  EXPECT_EQ(meta["destination"]["dataset"], "d");
}

TEST(TaskSampler, ReadsACapturedMachine) {
  ::setenv("TACHO_PROCFS_ROOT", (std::string(TACHO_FIXTURES) + "/x86_vm/proc").c_str(), 1);
  MonitorSettings settings;
  settings.form = MonitorForm::image;
  ReplayClock clock(10);
  auto sampler = TaskSampler::create(settings, {"/"}, clock);
  ASSERT_TRUE(sampler);
  (*sampler)->baseline();
  MetricsSample sample;
  (*sampler)->sample(sample, 0);
  ::unsetenv("TACHO_PROCFS_ROOT");
  const std::string meminfo = slurp(std::string(TACHO_FIXTURES) + "/x86_vm/proc/meminfo");
  const auto kib = [&](const std::string& key) {
    const size_t line = meminfo.find("\n" + key + ":");
    return line == std::string::npos ? std::strtoll(meminfo.c_str() + key.size() + 1, nullptr, 10)
                                     : std::strtoll(meminfo.c_str() + line + key.size() + 2, nullptr, 10);
  };
  const int64_t used = kib("MemTotal") - kib("MemFree") - kib("Buffers") - kib("Cached") - kib("SReclaimable");
  EXPECT_NEAR(used_memory_gb(sample.memory).value_or(-1), static_cast<double>(used) * 1024e-9, 1e-9);
  const RuntimeFacts facts = (*sampler)->facts();
  EXPECT_EQ(facts.mem_total_bytes, kib("MemTotal") * 1024);
  EXPECT_FALSE(sample.cgroup_cpu_cores) << "the image's own cgroup is not the task's";
  EXPECT_EQ(sample.oom_kills, 0);
  EXPECT_TRUE(sample.pressure.cpu_some);
}

}  // namespace
}  // namespace tacho
