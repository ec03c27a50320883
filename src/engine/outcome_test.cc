// Whether an OOM kill hit the job, by what is known at its end.
#include "engine/outcome.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/units.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

struct Ending {
  TempDir dir;
  ProbeContext context;
  Run run;
  Summary summary;
  std::string note;
  OomWatch watch;

  Ending() {
    context.roots.proc = dir.path();
    spill(dir / "vmstat", "oom_kill 5\n");
    spill(dir / "meminfo", "MemTotal: 8388608 kB\n");
    context.limits.memory_limit_bytes = 100 * kMiB;
    watch.begin(context.roots);
    run.outcome.exit_code = 0;
    run.totals.processes_seen = 3;
    run.totals.memory_peak_bytes = 2 * kMiB;
  }
  // `kills`: in the cgroup; −1: it has no such file.
  void end(double kills, bool own_cgroup) {
    Schema schema{kTimestampColumn, {211, "cgroup_oom_kills", "count", 0, Rule::delta, 0, 1, "", nullptr}};
    summary.begin(schema);
    Row row;
    row.interval_ns = kNsPerSec;
    row.cells = {1, kills < 0 ? kAbsent : kills};
    summary.add(row);
    spill(dir / "vmstat", "oom_kill 6\n");
    watch.end(context, run, summary, own_cgroup, note);
  }
};

TEST(OomWatch, AKillInTheJobsOwnCgroupIsTheJobs) {
  Ending ending;
  ending.run.outcome.exit_code = 9;  // a shell whose child was killed
  ending.end(1, true);
  EXPECT_EQ(ending.run.outcome.oom_killed, true);
  EXPECT_EQ(ending.run.totals.oom_kills, 1);
  EXPECT_EQ(ending.note, "");
}

TEST(OomWatch, ANeighboursKillInASharedCgroupDoesNotMarkTheJob) {
  Ending several;
  several.end(1, false);
  EXPECT_FALSE(several.run.outcome.oom_killed.has_value()) << "one of its processes may have been hit: nobody knows";
  EXPECT_FALSE(several.run.totals.oom_kills.has_value());
  EXPECT_NE(several.note.find("shares with others"), std::string::npos) << several.note;
  Ending alone;
  alone.run.totals.processes_seen = 1;
  alone.end(1, false);
  EXPECT_EQ(alone.run.outcome.oom_killed, false) << "the one process that it had ended by itself";
  EXPECT_EQ(alone.run.totals.oom_kills, 0);
  EXPECT_EQ(alone.note, "");
}

TEST(OomWatch, WhoHeldMostOfTheMemoryWasHit) {
  Ending ending;
  ending.run.outcome.exit_code = 9;
  ending.run.totals.memory_peak_bytes = 90 * kMiB;
  ending.end(1, false);
  EXPECT_EQ(ending.run.outcome.oom_killed, true);
  EXPECT_EQ(ending.run.totals.oom_kills, 1);
}

TEST(OomWatch, AJobThatWasKilledWhileTheCountRoseWasHit) {
  for (const double in_cgroup : {1.0, -1.0}) {
    Ending ending;
    ending.run.outcome.exit_code = 128 + SIGKILL;
    ending.end(in_cgroup, false);
    EXPECT_EQ(ending.run.outcome.oom_killed, true) << in_cgroup;
  }
  Ending other;  // of another container, as far as the machine's count tells
  other.end(-1, false);
  EXPECT_EQ(other.run.outcome.oom_killed, false);
}

}  // namespace
}  // namespace tacho
