// The parsers of machine-wide files: what they read, and that damaged input neither breaks them nor becomes a number.
#include <gtest/gtest.h>

#include <array>

#include "procfs/loadavg.h"
#include "procfs/meminfo.h"
#include "procfs/pressure.h"
#include "procfs/stat.h"
#include "procfs/vmstat.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(ProcStat, ReadsTotalsAndCounts) {
  const ProcStat stat = parse_proc_stat(fixture("x86_vm/proc/stat"));
  ASSERT_TRUE(stat.has_all);
  EXPECT_EQ(stat.all.user, 3160);
  EXPECT_EQ(stat.all.nice, 40);
  EXPECT_EQ(stat.all.steal, 17);
  EXPECT_EQ(stat.all.busy(), 3160 + 40 + 1986 + 7 + 35);
  // guest (300) and guest_nice (20) are inside user and nice.
  EXPECT_EQ(stat.all.total(), 3160 + 40 + 1986 + 212383 + 341 + 7 + 35 + 17);
  EXPECT_EQ(stat.cores, 2);
  EXPECT_EQ(stat.ctxt, 335970);
  EXPECT_EQ(stat.forks, 5465);
  EXPECT_EQ(stat.btime_s, 1794746103);
}

TEST(ProcStat, FillsAsManyCoresAsFit) {
  std::array<CpuTicks, 1> one;
  EXPECT_EQ(parse_proc_stat(fixture("x86_vm/proc/stat"), one).cores, 2);
  EXPECT_EQ(one[0].user, 743);
  std::array<CpuTicks, 3> three;
  parse_proc_stat(fixture("x86_vm/proc/stat"), three);
  EXPECT_EQ(three[1].user, 2417);
  EXPECT_EQ(three[1].steal, 13);
}

TEST(ProcStat, OldKernelHasFewerNumbers) {
  const ProcStat stat = parse_proc_stat("cpu  1 2 3 4\n");
  ASSERT_TRUE(stat.has_all);
  EXPECT_EQ(stat.all.total(), 10);
  EXPECT_EQ(stat.forks, -1);
}

TEST(ProcStat, DamagedInputIsAbsentNotZero) {
  for (const std::string_view text : {"", "cpu", "cpu ", "cpu  1 2 3", "cpu  x y z w", "cpux 1 2 3 4\n", "\n\n\n"}) {
    const ProcStat stat = parse_proc_stat(text);
    EXPECT_FALSE(stat.has_all) << text;
    EXPECT_EQ(stat.ctxt, -1) << text;
  }
  const std::string binary("\0\xff cpu \x01\ncpu0\0\0", 15);
  EXPECT_FALSE(parse_proc_stat(binary).has_all);
  const ProcStat huge = parse_proc_stat("cpu  99999999999999999999999999 18446744073709551615 1 1 1 1 1 1\n");
  ASSERT_TRUE(huge.has_all);
  EXPECT_EQ(huge.all.user, INT64_MAX);
  EXPECT_EQ(huge.all.total(), INT64_MAX);
}

TEST(MemInfo, ReadsBytes) {
  const MemInfo info = parse_meminfo(fixture("x86_vm/proc/meminfo"));
  EXPECT_EQ(info.total, int64_t{24684100} * 1024);
  EXPECT_EQ(info.active, int64_t{42476} * 1024);  // not Active(anon)
  EXPECT_EQ(info.inactive, int64_t{28008} * 1024);
  EXPECT_EQ(info.swap_free, int64_t{2097140} * 1024);
  EXPECT_EQ(info.used(), int64_t{24684100 - 24368224} * 1024);
  EXPECT_EQ(info.cached_and_reclaimable(), int64_t{72756 + 56892} * 1024);
}

TEST(MemInfo, WithoutAvailableTheOldFormula) {
  const MemInfo info = parse_meminfo(fixture("no_sys/proc/meminfo"));
  EXPECT_EQ(info.available, -1);
  EXPECT_EQ(info.used(), int64_t{24684100 - 24429908 - 1740 - 72756 - 56892} * 1024);
}

TEST(MemInfo, DamagedInputIsAbsentNotZero) {
  for (const std::string_view text : {"", "MemTotal", "MemTotal:", "MemTotal: kB\n", ":::\n", "MemTotalX: 5 kB\n"}) {
    EXPECT_EQ(parse_meminfo(text).total, -1) << text;
    EXPECT_EQ(parse_meminfo(text).used(), -1) << text;
  }
  EXPECT_EQ(parse_meminfo("MemTotal: 9223372036854775807 kB\n").total, INT64_MAX);
  EXPECT_EQ(parse_meminfo("MemTotal: 1 kB\nMemAvailable: 2 kB\n").used(), 0);
  EXPECT_EQ(parse_meminfo("MemTotal: 1 kB\nMemFree: 9999999999999999999 kB\nBuffers: 9999999999999999999 kB\n").used(),
            0);
}

TEST(LoadAverage, ReadsAllThree) {
  const LoadAverage load = parse_loadavg("12.34 0.04 0.02 4/90 5476\n");
  EXPECT_EQ(load.last_pid, 5476);
  EXPECT_EQ(load.load1_hundredths, 1234);
  EXPECT_EQ(load.running, 4);
  EXPECT_EQ(load.threads, 90);
}

TEST(LoadAverage, DamagedInputIsAbsentNotZero) {
  for (const std::string_view text : {"", "1", "1.", "1.2 0.0 0.0 1/2 3", "x.yz", "1. 23", "-1.00 0 0 1/2"})
    EXPECT_EQ(parse_loadavg(text).load1_hundredths, -1) << text;
  for (const std::string_view text : {"0.10 0.10 0.10", "0.10 0.10 0.10 4", "0.10 0.10 0.10 4/", "0.10 0.10 0.10 /9"}) {
    EXPECT_EQ(parse_loadavg(text).load1_hundredths, 10) << text;
    EXPECT_EQ(parse_loadavg(text).threads, -1) << text;
  }
}

TEST(VmStat, ReadsBothWhereverTheyAre) {
  const VmStat stat = parse_vmstat(fixture("x86_vm/proc/vmstat"));
  EXPECT_EQ(stat.major_faults, 1181);
  EXPECT_EQ(stat.oom_kills, 3);
  EXPECT_EQ(parse_vmstat("oom_kill 1\npgmajfault 2").major_faults, 2);
}

TEST(VmStat, DamagedInputIsAbsentNotZero) {
  for (const std::string_view text : {"", "pgmajfault", "pgmajfault \n", "xpgmajfault 5\n", "pgmajfault_x 5\n"})
    EXPECT_EQ(parse_vmstat(text).major_faults, -1) << text;
}

TEST(PressureFile, ReadsTotals) {
  const Pressure io = parse_pressure(fixture("x86_vm/proc/pressure/io"));
  EXPECT_EQ(io.some_us, 3259585);
  EXPECT_EQ(io.full_us, 3024516);
  // cpu had no line "full" before Linux 5.13.
  const Pressure averages = parse_pressure(
      "some avg10=1.08 avg60=0.78 avg300=0.38 total=5\nfull avg10=100.00 avg60=0.00 avg300=0.00 total=0\n");
  EXPECT_EQ(averages.some_avg10, 108);
  EXPECT_EQ(averages.full_avg10, 10000);
  for (const char* text :
       {"some total=7\n", "some avg10=1 total=7\n", "some avg10=1.x total=7\n", "some avg10=1.5", "some avg10="})
    EXPECT_EQ(parse_pressure(text).some_avg10, -1) << text;
  EXPECT_EQ(parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n").full_us, -1);
}

TEST(PressureFile, FindsTheTotalWhereverItStands) {
  EXPECT_EQ(parse_pressure("some avg10=0.10 total=7 avg900=0.00\n").some_us, 7);
  EXPECT_EQ(parse_pressure("some avg10=0.10 avg60=0.00 total=7").some_us, 7);
  EXPECT_EQ(parse_pressure("full avg10=0.10 total=8 x=\nsome avg10=0.00 total=9\n").full_us, 8);
  EXPECT_EQ(parse_pressure("some avg10=0.10 subtotal=7\n").some_us, -1);
}

TEST(PressureFile, DamagedInputIsAbsentNotZero) {
  for (const std::string_view text : {"", "some", "some total=", "some avg10=1 total", "total=5", "full\nsome total=x"})
    EXPECT_EQ(parse_pressure(text).some_us, -1) << text;
}

}  // namespace
}  // namespace tacho
