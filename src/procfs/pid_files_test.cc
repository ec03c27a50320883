#include "procfs/pid_files.h"

#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <random>
#include <string>

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

// Any names, any numbers, against sscanf behind the last bracket.
TEST(PidStat, ReadsAsSscanfDoes) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 2000; ++round) {
    std::string name;
    for (size_t i = random() % 16; i > 0; --i) name += "ab() \t\n:0"[random() % 9];
    std::string text = std::to_string(random() % 4'000'000) + " (" + name + ") ";
    text += "RSDZTtXI"[random() % 8];
    std::array<unsigned long long, 50> fields{};
    for (size_t i = 4; i < fields.size(); ++i) {
      fields[i] = (random() >> 2) >> random() % 62;
      if (i == 4 || i == 5 || i == 6) fields[i] %= 4'000'000;
      text += ' ' + std::to_string(fields[i]);
    }
    text += '\n';
    PidStat stat;
    ASSERT_TRUE(parse_pid_stat(text, stat)) << text;
    EXPECT_EQ(stat.comm, name);
    EXPECT_EQ(stat.ppid, static_cast<pid_t>(fields[4]));
    EXPECT_EQ(stat.session, static_cast<pid_t>(fields[6]));
    const int64_t read[] = {stat.minor_faults, stat.child_minor_faults,
                            stat.major_faults, stat.child_major_faults,
                            stat.utime,        stat.stime,
                            stat.cutime,       stat.cstime,
                            stat.threads,      stat.virtual_bytes,
                            stat.rss_pages,    stat.blkio_ticks};
    const size_t places[] = {10, 11, 12, 13, 14, 15, 16, 17, 20, 23, 24, 42};
    for (size_t i = 0; i < std::size(places); ++i)
      EXPECT_EQ(read[i], static_cast<int64_t>(fields[places[i]])) << places[i] << ": " << text;
    EXPECT_EQ(stat.start_time, fields[22]);
    EXPECT_EQ(stat.stack_start, fields[28]);
    EXPECT_EQ(stat.ignored, fields[33]);
  }
}

TEST(PidStat, NeedsBothBracketsInTheirOrder) {
  PidStat stat;
  for (const char* text : {"", "7", "7 (a S 1 2 3", "7 a) S 1 2 3", "7 )a( S 1 2 3", "7 (a) SS 1 2 3", "7 (a)"})
    EXPECT_FALSE(parse_pid_stat(text, stat)) << text;
}

}  // namespace
}  // namespace tacho
