#include "procfs/pid_files.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(SmapsRollup, ReadsBothSizesAndHugePages) {
  const auto rollup = parse_smaps_rollup(
      "558df8a15000-7ffd1c9f2000 ---p 00000000 00:00 0                          [rollup]\n"
      "Rss:                1640 kB\n"
      "Pss:                 166 kB\n"
      "Pss_Dirty:           100 kB\n"
      "Pss_Anon:            100 kB\n"
      "Shared_Clean:       1540 kB\n"
      "Shared_Hugetlb:     4096 kB\n"
      "Private_Hugetlb:    2048 kB\n");
  ASSERT_TRUE(rollup);
  EXPECT_EQ(rollup->rss_bytes, 1640 * 1024);
  EXPECT_EQ(rollup->pss_bytes, 166 * 1024);
  EXPECT_EQ(rollup->huge_bytes, 2048 * 1024);
}

TEST(SmapsRollup, DamagedInputIsAbsentNotZero) {
  EXPECT_FALSE(parse_smaps_rollup(""));
  EXPECT_FALSE(parse_smaps_rollup("Rss: 12 kB\n"));
  EXPECT_FALSE(parse_smaps_rollup("Pss: 12 kB\n"));
  EXPECT_FALSE(parse_smaps_rollup("Rss: kB\nPss: 12 kB\n"));
  EXPECT_FALSE(parse_smaps_rollup("Rss: 12 kB\nPss: 99999999999999999999 kB\n"));
}

TEST(PidStat, ReadsFromTheLastBracket) {
  PidStat stat;
  ASSERT_TRUE(parse_pid_stat("7 (a) R 1 (b\n) S 3 4 5 0 -1 64 1 2 30 40 500 600 7 8 20 0 2 0 99 1000 25", stat));
  EXPECT_EQ(stat.pid, 7);
  EXPECT_EQ(stat.comm, "a) R 1 (b\n");
  EXPECT_EQ(stat.state, 'S');
  EXPECT_EQ(stat.ppid, 3);
  EXPECT_EQ(stat.session, 5);
  EXPECT_EQ(stat.major_faults, 30);
  EXPECT_EQ(stat.child_major_faults, 40);
  EXPECT_EQ(stat.utime, 500);
  EXPECT_EQ(stat.cstime, 8);
  EXPECT_EQ(stat.threads, 2);
  EXPECT_EQ(stat.start_time, 99u);
  EXPECT_EQ(stat.rss_pages, 25);
}

}  // namespace
}  // namespace tacho
