// Whole sessions on a clock that jumps from deadline to deadline.
#include "engine/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/units.h"
#include "support/replay_clock.h"
#include "support/small_disk.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

int count_lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

Settings watching(const std::string& output) {
  Settings settings;
  settings.mode = Mode::watch;
  settings.outputs = {output};
  settings.quiet = true;
  settings.compatible = true;
  settings.format = "csv";
  return settings;
}

TEST(Session, TicksNeitherDriftNorBurst) {
  const TempDir dir;
  ReplayClock clock(2000);
  const int64_t start_ns = clock.monotonic_ns();
  const auto status = run_session(watching(dir / "a.csv"), clock);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->exit_status, 0);
  // 2000 ticks of one second, and the closing row at the signal.
  EXPECT_EQ(count_lines(slurp(dir / "a.csv")), 1 + 2000 + 1);
  EXPECT_EQ(clock.monotonic_ns() - start_ns, 2000 * kNsPerSec);
}

TEST(Session, MissedTicksAreSkipped) {
  const TempDir dir;
  ReplayClock clock(20);
  clock.sleep_after(10, 3600 * kNsPerSec);  // as a suspended machine does
  ASSERT_TRUE(run_session(watching(dir / "a.csv"), clock));
  EXPECT_EQ(count_lines(slurp(dir / "a.csv")), 1 + 20 + 1);
}

TEST(Session, ATimeoutEndsTheRecording) {
  const TempDir dir;
  ReplayClock clock(1000);
  Settings settings = watching(dir / "a.csv");
  settings.timeout_ns = 10 * kNsPerSec;
  const auto status = run_session(settings, clock);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->exit_status, 124);
  EXPECT_LE(count_lines(slurp(dir / "a.csv")), 13);
}

TEST(Session, AFullDiskUnderANamedStoreRefusesNothing) {
  const TempDir dir;
  const SmallDisk disk("16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "may not mount";
  disk.fill(16 * 1024);
  ReplayClock clock(3);
  Settings settings = watching(dir / "a.csv");
  settings.store_dir = disk.path();
  settings.store_named = true;
  EXPECT_TRUE(run_session(settings, clock));
  EXPECT_EQ(count_lines(slurp(dir / "a.csv")), 1 + 3 + 1);
  settings.store_dir = "/proc/no/such/store";
  EXPECT_FALSE(run_session(settings, clock));
}

TEST(Session, ABadOutputRefusesTheStart) {
  ReplayClock clock(1);
  EXPECT_FALSE(run_session(watching("/no/such/folder/a.csv"), clock));
  Settings settings = watching("ftp://host/a");
  EXPECT_FALSE(run_session(settings, clock));
}

}  // namespace
}  // namespace tacho
