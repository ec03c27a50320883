// The job's CPU time by its cgroup: when it was read, and what becomes of a job that leaves it.
#include "probe/process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "base/units.h"
#include "os/clock.h"
#include "probe/tree/cgroup_leavers.h"
#include "probe/tree/process_tree.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// A job in a cgroup v2 whose sums the test writes.
struct InCgroup {
  TempDir folder;
  ProbeContext context;
  std::unique_ptr<ProcessTree> tree;
  std::unique_ptr<Probe> probe;

  InCgroup() {
    sums(0, 0);
    context.cgroup.unified = folder.path();
    context.cgroup.job_only = true;
    tree = std::make_unique<ProcessTree>(context);
    context.tree = tree.get();
    tree->expect_own_child();
    probe = std::move(*kProcessProbe.make(context));
  }
  void sums(int user_us, int system_us) const {
    spill(folder / "cpu.stat", "usage_usec " + std::to_string(user_us + system_us) + "\nuser_usec " +
                                   std::to_string(user_us) + "\nsystem_usec " + std::to_string(system_us) + "\n");
  }
  // The job ended; by wait4 it used this.
  void end(int user_us, int system_us) {
    rusage usage{};
    usage.ru_utime.tv_usec = user_us;
    usage.ru_stime.tv_usec = system_us;
    tree->reaped(4711, usage);
    context.facts.closing = true;
  }
  Reading read(int64_t stamp_ns) const {
    Reading reading;
    reading.stamp_ns = stamp_ns;
    probe->read(reading);
    return reading;
  }
};

double cell(std::string_view name, const Reading& before, const Reading& now) {
  for (const Column& column : kProcessProbe.columns)
    if (column.name == name) return derive(column, before, now);
  return kAbsent;
}

TEST(ProcessProbe, IsStampedWhenTheCgroupIsRead) {
  InCgroup job;
  EXPECT_GT(job.read(1000).stamp_ns, 1000) << "the tree comes first, and may take a while";
}

TEST(ProcessProbe, IsStampedWhenTheClocksOfTheTreeAreRead) {
  InCgroup job;
  job.context.cgroup.job_only = false;
  const int64_t begun_ns = system_clock().monotonic_ns();
  const int64_t stamp_ns = job.read(1000).stamp_ns;
  EXPECT_GE(stamp_ns, 1000);
  EXPECT_LE(stamp_ns - 1000, system_clock().monotonic_ns() - begun_ns);
}

// However long the job ran before: what the one that left used unseen would all be in one row.
TEST(ProcessProbe, NoticesOneThatLeftItsCgroupAfterALongTime) {
  const TempDir folder;
  ProbeContext context;
  ProcessTree tree(context);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  ASSERT_TRUE(tree.follow(child, false));
  context.tree = &tree;
  CgroupLeavers leavers(folder.path());
  const int64_t long_ns = 3600 * kNsPerSec, cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  EXPECT_FALSE(leavers.found(context, kNsPerSec, long_ns, long_ns + cpus * 9 * kNsPerMs))
      << "a tick behind on each CPU";
  EXPECT_TRUE(leavers.found(context, 2 * kNsPerSec, long_ns, long_ns + (100 + cpus * 10) * kNsPerMs));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(ProcessProbe, StaysWithTheCgroup) {
  InCgroup job;
  const Reading before = job.read(0);
  job.sums(300'000, 20'000);
  job.end(310'000, 30'000);
  const Reading now = job.read(1'000'000'000);
  EXPECT_NEAR(cell("process_utime", before, now), 0.3, 1e-6);
  EXPECT_NEAR(cell("process_stime", before, now), 0.02, 1e-6);
  EXPECT_TRUE(job.context.cgroup.job_only);
  EXPECT_TRUE(job.context.notes.empty());
}

// The tree's sum is another one than the cgroup's: a reading of the one between two of the other would count the
// difference.
TEST(ProcessProbe, ACgroupThatCannotBeReadForOnceLosesNothing) {
  InCgroup job;
  job.sums(900'000, 0);
  Reading before = job.read(0);
  const auto fail = [&] {
    spill(job.folder / "cpu.stat", "");
    job.context.facts = {};  // as at every tick
  };
  fail();
  Reading now = job.read(1'000'000'000);
  EXPECT_TRUE(is_absent(cell("process_utime", before, now)));
  now.keep_from(before);
  job.sums(1'100'000, 0);
  const Reading next = job.read(2'000'000'000);
  EXPECT_NEAR(cell("process_utime", now, next), 0.2, 1e-6);
  EXPECT_NEAR(cell("process_cpu_usage", now, next), 0.1, 0.01) << "over both intervals";
  EXPECT_TRUE(job.context.cgroup.job_only);
  // For good: the tree goes on from there, and no time is told twice.
  fail();
  Reading last = next;
  for (int64_t second = 3; second < 6; ++second) {
    Reading later = job.read(second * 1'000'000'000);
    later.keep_from(last);
    last = later;
  }
  EXPECT_FALSE(job.context.cgroup.job_only);
  EXPECT_NEAR(cell("process_utime", next, last), 0, 1e-6);
  ASSERT_EQ(job.context.notes.size(), 1u);
}

TEST(ProcessProbe, SumsTheTreeOfAJobThatLeftItsCgroup) {
  InCgroup job;
  job.sums(1'000, 9'000);
  const Reading before = job.read(0);
  job.end(400'000, 5'000);
  const Reading now = job.read(1'000'000'000);
  // Of the system time that the cgroup had told nothing is taken back.
  EXPECT_NEAR(cell("process_utime", before, now), 0.395, 1e-6);
  EXPECT_NEAR(cell("process_stime", before, now), 0, 1e-6);
  EXPECT_NEAR(cell("process_cpu_usage", before, now), 0.395, 0.01);
  EXPECT_FALSE(job.context.cgroup.job_only);
  ASSERT_EQ(job.context.notes.size(), 1u);
  EXPECT_NE(job.context.notes[0].find("left the cgroup"), std::string::npos);
}

}  // namespace
}  // namespace tacho
