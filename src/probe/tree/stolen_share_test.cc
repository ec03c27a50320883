// What is taken off a clock: the share of the machine's steal that the clock had of its CPU time.
#include "probe/tree/stolen_share.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

struct StatFile {
  TempDir folder;
  void say(int user_ticks, int steal_ticks) const {
    spill(folder / "stat",
          "cpu " + std::to_string(user_ticks) + " 0 0 1000 0 0 0 " + std::to_string(steal_ticks) + " 0 0\n");
  }
};

constexpr int64_t kTickNs = 10 * kNsPerMs;

TEST(StolenShare, IsThatOfTheClockInTheMachinesTime) {
  const StatFile stat;
  ReadBuffer buffer;
  stat.say(5000, 700);
  StolenShare stolen(stat.folder.path());
  stolen.begin(buffer);
  EXPECT_EQ(stolen.update(buffer, 0), 0);
  stat.say(5300, 800);  // 400 in all, of which the clock had 100
  EXPECT_EQ(stolen.update(buffer, 100 * kTickNs), 25 * kTickNs);
  stat.say(5700, 800);  // nothing more was stolen
  EXPECT_EQ(stolen.update(buffer, 400 * kTickNs), 25 * kTickNs);
  stat.say(5700, 900);  // and now everything is the clock's: on all of it another guest ran
  EXPECT_EQ(stolen.update(buffer, 500 * kTickNs), 125 * kTickNs);
  EXPECT_EQ(stolen.ns(), 125 * kTickNs);
}

TEST(StolenShare, IsNeverMoreThanTheClockItself) {
  const StatFile stat;
  ReadBuffer buffer;
  stat.say(0, 0);
  StolenShare stolen(stat.folder.path());
  stolen.begin(buffer);
  stat.say(0, 100);
  EXPECT_EQ(stolen.update(buffer, 3 * kTickNs), 3 * kTickNs);
}

TEST(StolenShare, AFewTicksAreNotKept) {
  const StatFile stat;
  ReadBuffer buffer;
  stat.say(0, 0);
  StolenShare stolen(stat.folder.path());
  stolen.begin(buffer);
  stat.say(0, 1);
  EXPECT_EQ(stolen.update(buffer, kTickNs), kTickNs) << "one tick of one";
  stat.say(99, 1);
  EXPECT_EQ(stolen.update(buffer, 50 * kTickNs), kTickNs / 2) << "of a hundred the clock had half";
}

TEST(StolenShare, IsNoneWhereTheKernelDoesNotTell) {
  const TempDir folder;
  ReadBuffer buffer;
  StolenShare stolen(folder.path());
  stolen.begin(buffer);
  EXPECT_EQ(stolen.update(buffer, kNsPerSec), 0);
}

}  // namespace
}  // namespace tacho
