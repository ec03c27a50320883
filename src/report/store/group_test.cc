#include "report/store/group.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/units.h"
#include "report/store/group_rows.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr int64_t kGroupStart = 1'794'736'800;

StoredRun member(const TempDir& dir, const std::string& id, int64_t start_s, int64_t seconds, const std::string& rows) {
  StoredRun stored;
  stored.folder = dir / id;
  std::filesystem::create_directory(stored.folder);
  spill(stored.folder + "/metrics.csv", "timestamp,process_utime,process_cpu_usage,process_memory_mib\n" + rows);
  Run& run = stored.run;
  run.id = id;
  run.interval_ns = 10 * kNsPerSec;
  run.outcome.state = RunState::finished;
  run.outcome.started_realtime_ns = (kGroupStart + start_s) * kNsPerSec;
  run.outcome.finished_realtime_ns = run.outcome.started_realtime_ns + seconds * kNsPerSec;
  run.outcome.duration_ns = seconds * kNsPerSec;
  run.started_by.job.scheduler = "slurm";
  run.started_by.job.id = "1";
  return stored;
}

std::string at(int64_t second, const std::string& cells) {
  return std::to_string(kGroupStart + second) + "," + cells + "\n";
}

TEST(GroupRows, SpreadWhatIntervalsAddedAndLoseNothing) {
  const TempDir dir;
  const std::vector<StoredRun> members{member(dir, "a", 0, 20, at(10, "8,0.8,100") + at(20, "4,0.4,50")),
                                       member(dir, "b", 5, 10, at(15, "6,0.6,30"))};
  GroupRows rows(members);
  Row row;
  std::vector<std::vector<double>> seen;
  while (rows.next(row)) seen.push_back(row.cells);
  ASSERT_EQ(seen.size(), 2u);
  // timestamp, memory, usage, utime: half of the second member's row lies in each.
  EXPECT_EQ(seen[0], (std::vector<double>{kGroupStart + 10.0, 100, 0.8 + 0.3, 8 + 3}));
  EXPECT_EQ(seen[1], (std::vector<double>{kGroupStart + 20.0, 130, 0.4 + 0.3, 4 + 3}));
  EXPECT_EQ(rows.memory_peak_mib(), 130);
}

TEST(GroupRows, WhatIsToldOfOneMomentIsOneState) {
  const TempDir dir;
  // At 10 s the one falls while the other rises; at 20 s both end.
  const std::vector<StoredRun> members{member(dir, "a", 0, 20, at(10, "1,1,10") + at(20, "1,1,90")),
                                       member(dir, "b", 0, 20, at(10, "1,1,80") + at(20, "1,1,20"))};
  GroupRows rows(members);
  for (Row row; rows.next(row);) EXPECT_EQ(row.interval_ns, 10 * kNsPerSec);
  EXPECT_EQ(rows.memory_peak_mib(), 110);
}

TEST(GroupRows, AClockThatIsYearsOffIsBounded) {
  const TempDir dir;
  const std::vector<StoredRun> members{
      member(dir, "a", 0, 20, at(10, "1,1,10") + "8999999999,1,1,10\n" + at(20, "2,1,10")),
      member(dir, "b", 0, 20, at(10, "1,,"))};
  GroupRows rows(members);
  double utime = 0;
  int64_t count = 0;
  for (Row row; rows.next(row); ++count) utime += is_absent(row.cells[3]) ? 0 : row.cells[3];
  EXPECT_NEAR(utime, 5, 1e-6);
  EXPECT_LT(count, 200'000);
}

TEST(Groups, ASingleRunIsItself) {
  const TempDir dir;
  const Input input = group_input({member(dir, "a", 0, 20, at(10, "1,1,10"))});
  EXPECT_EQ(input.stored.run.id, "a");
  EXPECT_TRUE(input.members.empty());
}

TEST(Groups, NamesAreNotTakenForOthers) {
  for (const char* name : {"slurm:4711_3", "slurm:4711_3.r1", "htcondor:12.0", "kubernetes:pod-x"})
    EXPECT_TRUE(is_group_form(name)) << name;
  for (const char* name : {"last:train", "/a:b/run", "./x:1", ":1", "slurm:", "20261115-a1b2"})
    EXPECT_FALSE(is_group_form(name)) << name;
}

}  // namespace
}  // namespace tacho
