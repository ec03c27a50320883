// Parsers of files with a line a device or mount, and of /proc/cpuinfo.
#include <gtest/gtest.h>

#include <vector>

#include "procfs/cpuinfo.h"
#include "procfs/diskstats.h"
#include "procfs/mountinfo.h"
#include "procfs/net_dev.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(DiskStats, ReadsEveryLine) {
  const std::string text = fixture("x86_vm/proc/diskstats");
  DiskStatsLines lines(text);
  DiskLine line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "loop0");
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "vda");
  EXPECT_EQ(line.major, 254);
  DiskCounters counters;
  ASSERT_TRUE(parse_disk_counters(line.counters, counters));
  EXPECT_EQ(counters.reads, 48495);
  EXPECT_EQ(counters.sectors_read, 2853642);
  EXPECT_EQ(counters.read_ms, 8064);
  EXPECT_EQ(counters.writes, 10321);
  EXPECT_EQ(counters.sectors_written, 958872);
  EXPECT_EQ(counters.write_ms, 4475);
  EXPECT_EQ(counters.in_flight, 0);
  EXPECT_EQ(counters.io_ms, 5464);
  EXPECT_EQ(counters.weighted_ms, 12907);
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "vda1");
  EXPECT_EQ(line.minor, 1);
  ASSERT_TRUE(lines.next(line));
  EXPECT_FALSE(lines.next(line));
}

TEST(DiskStats, DamagedLinesArePassedOver) {
  const std::string text("\n8\n8 0\n8 x sda 1\nsda 1 2\n\xff\xfe\0\n 8 0 sdb 1 2 3\n", 38);
  DiskStatsLines lines(text);
  DiskLine line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "sdb");
  DiskCounters counters;
  EXPECT_FALSE(parse_disk_counters(line.counters, counters));
  EXPECT_FALSE(lines.next(line));
  EXPECT_FALSE(parse_disk_counters("", counters));
  ASSERT_TRUE(parse_disk_counters("99999999999999999999 1 1 1 1 1 1 1 1 1 1", counters));
  EXPECT_EQ(counters.reads, INT64_MAX);
}

TEST(NetDev, ReadsNamesAndBytes) {
  const std::string text = fixture("x86_vm/proc/net/dev");
  NetDevLines lines(text);
  std::vector<std::string> names;
  NetCounters eth0;
  for (NetLine line; lines.next(line);) {
    names.emplace_back(line.name);
    if (line.name == "eth0") { ASSERT_TRUE(parse_net_counters(line.counters, eth0)); }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"lo", "eth0", "docker0", "veth1a2b"}));
  EXPECT_EQ(eth0.rx_bytes, 76786663);
  EXPECT_EQ(eth0.tx_bytes, 113613);
}

TEST(NetDev, OldKernelsLeaveOutTheBlank) {
  NetDevLines lines("  eth0:4294967295 1 0 0 0 0 0 0 17 1 0 0 0 0 0 0\n");
  NetLine line;
  ASSERT_TRUE(lines.next(line));
  NetCounters counters;
  ASSERT_TRUE(parse_net_counters(line.counters, counters));
  EXPECT_EQ(counters.rx_bytes, 4294967295);
  EXPECT_EQ(counters.tx_bytes, 17);
}

TEST(NetDev, DamagedLinesArePassedOver) {
  NetDevLines lines("no colon\n: 1 2\n\n  x:");
  NetLine line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.name, "x");
  NetCounters counters;
  EXPECT_FALSE(parse_net_counters(line.counters, counters));
  EXPECT_FALSE(parse_net_counters("1 2 3 4 5 6 7 8", counters));
  EXPECT_FALSE(lines.next(line));
}

TEST(MountInfo, ReadsTheManualsExample) {
  MountInfoLines lines(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue\n");
  MountLine line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.id, 36);
  EXPECT_EQ(line.parent, 35);
  EXPECT_EQ(line.major, 98);
  EXPECT_EQ(line.minor, 0);
  EXPECT_EQ(line.root, "/mnt1");
  EXPECT_EQ(line.mount_point, "/mnt2");
  EXPECT_EQ(line.options, "rw,noatime");
  EXPECT_EQ(line.type, "ext3");
  EXPECT_EQ(line.source, "/dev/root");
  EXPECT_EQ(line.super_options, "rw,errors=continue");
  EXPECT_FALSE(lines.next(line));
}

TEST(MountInfo, DamagedLinesArePassedOver) {
  MountInfoLines lines(
      "36\n36 35\n36 35 98\n36 35 98:0 / /mnt rw\n36 35 98:0 / /mnt rw -\nx y z\n1 2 0:5 / /a rw - tmpfs\n");
  MountLine line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.mount_point, "/a");
  EXPECT_EQ(line.source, "");
  EXPECT_FALSE(lines.next(line));
}

TEST(MountInfo, DecodesOctalOnly) {
  EXPECT_EQ(decode_mount_field(R"(/a\040b\011c\012d\134e)"), "/a b\tc\nd\\e");
  EXPECT_EQ(decode_mount_field(R"(/trailing\04)"), R"(/trailing\04)");
  EXPECT_EQ(decode_mount_field(R"(\x40\400\089)"), R"(\x40\400\089)");
  EXPECT_EQ(decode_mount_field("\\"), "\\");
  EXPECT_EQ(decode_mount_field(R"(\134040)"), R"(\040)");  // decoded once, not twice
}

TEST(CpuInfo, KnowsFiveArchitectures) {
  const std::string x86 = fixture("x86_vm/proc/cpuinfo");
  EXPECT_EQ(parse_cpuinfo(x86).model_name, "AMD EPYC  7R13   Processor");
  EXPECT_EQ(parse_cpuinfo(x86).processors, 2);
  EXPECT_EQ(parse_cpuinfo(x86).power_cpu, "");  // "cpu family" is another key
  const CpuInfo arm = parse_cpuinfo(fixture("arm_clusters/proc/cpuinfo"));
  ASSERT_EQ(arm.cluster_count, 2u);
  EXPECT_EQ(arm.clusters[1].part, 0xd0cu);
  EXPECT_EQ(arm.clusters[1].cores, 4);
  const CpuInfo power = parse_cpuinfo("processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n");
  EXPECT_EQ(power.power_cpu, "POWER9 (architected), altivec supported");
  const CpuInfo s390 = parse_cpuinfo(
      "vendor_id       : IBM/S390\n# processors    : 2\n"
      "processor 0: version = FF,  identification = 123456,  machine = 8561\n"
      "processor 1: version = FF,  identification = 123456,  machine = 8561\n");
  EXPECT_EQ(s390.s390_machine, "8561");
  EXPECT_EQ(s390.processors, 2);
  const CpuInfo riscv = parse_cpuinfo("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n");
  EXPECT_EQ(riscv.uarch, "sifive,u74-mc");
  EXPECT_EQ(riscv.isa, "rv64imafdc");
}

TEST(CpuInfo, NamesOfArmCores) {
  EXPECT_EQ(arm_core_name(0x41, 0xd0c), "Neoverse-N1");
  EXPECT_EQ(arm_core_name(0x6d, 0xd49), "Azure-Cobalt-100");  // the same part as ARM's Neoverse-N2
  EXPECT_EQ(arm_core_name(0x41, 0xfff), "");
}

TEST(CpuInfo, DamagedInputHasNoName) {
  for (const std::string_view text :
       {"", ":", "model name", "CPU part: 0xd0c", "CPU implementer: zz\nCPU part: 0xd0c"}) {
    const CpuInfo info = parse_cpuinfo(text);
    EXPECT_EQ(info.model_name, "") << text;
    EXPECT_EQ(info.cluster_count, 0u) << text;
  }
  std::string many;
  for (int i = 0; i < 20; ++i) many += "CPU implementer: 0x41\nCPU part: 0x" + std::to_string(100 + i) + "\n";
  EXPECT_EQ(parse_cpuinfo(many).cluster_count, 8u);
}

}  // namespace
}  // namespace tacho
