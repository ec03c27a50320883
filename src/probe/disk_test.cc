// The disk probe: which devices and file systems count, and what becomes of devices that come, go and begin anew.
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>

#include "probe/disk_table.h"
#include "probe/file_systems.h"
#include "probe/system.h"
#include "support/probe_bench.h"

namespace tacho {
namespace {

std::vector<std::string> counted(const DiskTable& table) {
  std::vector<std::string> names;
  for (const DiskEntry& entry : table.entries())
    if (entry.counted()) names.push_back(entry.name);
  return names;
}

TEST(DiskTable, CountsBottomLevelWholeDevicesOnce) {
  KernelTree tree("stacked_disks");
  const Roots roots = tree.roots();
  DiskTable table(roots);
  ASSERT_TRUE(table.update(tree.read("proc/diskstats")));
  EXPECT_EQ(counted(table), (std::vector<std::string>{"sda", "sdb", "sdaa", "nvme0n1"}));
  EXPECT_FALSE(table.guessed());
}

TEST(DiskTable, WithoutSysfsNamesHaveToDo) {
  KernelTree tree("no_sys");
  const Roots roots = tree.roots();
  DiskTable table(roots);
  ASSERT_TRUE(table.update(tree.read("proc/diskstats")));
  EXPECT_EQ(counted(table), (std::vector<std::string>{"sda", "nvme0n1", "nvme0n10"}));
  EXPECT_TRUE(table.guessed());
}

TEST(DiskTable, EmptyFileIsNoReading) {
  const Roots roots{"/nonexistent", "/nonexistent", "/nonexistent"};
  DiskTable table(roots);
  EXPECT_FALSE(table.update(""));
  EXPECT_FALSE(table.update("garbage\n"));
}

TEST(DiskTable, TheOwnFileOfADeviceSaysWhatItsLineSays) {
  KernelTree tree("x86_vm");
  const Roots roots = tree.roots();
  DiskTable table(roots);
  ASSERT_TRUE(table.update(tree.read("proc/diskstats")));
  const auto entries = table.entries();
  const auto vda = std::find_if(entries.begin(), entries.end(), [](const DiskEntry& e) { return e.name == "vda"; });
  ASSERT_NE(vda, entries.end());
  const size_t index = static_cast<size_t>(vda - entries.begin());
  // /sys/block/vda/stat
  table.update_one(
      index, "   48505     7733  2853742     8094    10331     6340   959072     4515        2     5474    13157\n");
  EXPECT_EQ(table.totals().read_bytes, 100 * 512);
  EXPECT_EQ(table.totals().write_bytes, 200 * 512);
  table.update_one(index, "");
  EXPECT_EQ(table.totals().write_bytes, 200 * 512);
}

TEST(DiskProbe, SectorsAre512BytesWhateverTheDeviceSays) {
  KernelTree tree("x86_vm");  // its vda has 4096-byte blocks
  ProbeBench bench(kDiskProbe, tree.roots());
  bench.tick();
  tree.replace("proc/diskstats", "vda 48495 7733 2853642 8064 10321 6340 958872 4475 0 5464 12907",
               "vda 48505 7733 2853742 8094 10331 6340 959072 4515 2 5474 13157");
  tree.replace("proc/diskstats", "vda1 48000 7733 2800000", "vda1 48010 7733 2800100");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_read_bytes"), 100 * 512);
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_write_bytes"), 200 * 512);
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_latency_ms"), (30.0 + 40.0) / 20.0);
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_queue_length"), 0.25);
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_read_bytes"), 0);
  EXPECT_TRUE(is_absent(bench.cell("system_disk_latency_ms")));  // nothing completed
}

TEST(DiskProbe, DevicesComeGoAndBeginAnew) {
  KernelTree tree("stacked_disks");
  ProbeBench bench(kDiskProbe, tree.roots());
  bench.tick();
  // A new disk starts at its own first reading.
  tree.write("sys/block/sdz/size", "100\n");
  const std::string old = tree.read("proc/diskstats");
  tree.write("proc/diskstats", "   8     240 sdz 9 9 999999 9 9 9 999999 9 9 9 9\n" + old);
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_read_bytes"), 0);
  tree.replace("proc/diskstats", "sdz 9 9 999999", "sdz 9 9 1000000");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_read_bytes"), 512);
  // Put back under the same name: what it counts by now is not what this interval added.
  tree.replace("proc/diskstats", "sdz 9 9 1000000 9 9 9 999999", "sdz 1 0 10 1 1 0 9999999");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_read_bytes"), 0);
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_write_bytes"), 0);
  // Gone; another one goes on.
  tree.write("proc/diskstats", old);
  tree.replace("proc/diskstats", "sdb 100 5 2000", "sdb 101 5 2010");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_read_bytes"), 5120);
}

TEST(DiskProbe, MillisecondsGoRoundAt32Bits) {
  KernelTree tree("x86_vm");
  tree.replace("proc/diskstats", "0 5464 12907", "0 5464 4294967290");
  ProbeBench bench(kDiskProbe, tree.roots());
  bench.tick();
  tree.replace("proc/diskstats", "0 5464 4294967290", "0 5464 494");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_queue_length"), 0.5);
}

TEST(DiskProbe, NoDiskstatsIsEmptyNotZero) {
  KernelTree tree("container");
  ProbeBench bench(kDiskProbe, tree.roots());
  bench.tick();
  bench.tick();
  EXPECT_TRUE(is_absent(bench.cell("system_disk_read_bytes")));
  EXPECT_TRUE(is_absent(bench.cell("system_disk_write_bytes")));
  // Only the overlay at "/" is there: its space is what the job sees.
  EXPECT_GT(bench.cell("system_disk_space_total_gb"), 0);
}

// The sum of the others would look as if space had gone.
TEST(DiskProbe, AFileSystemThatFailsLeavesNoSmallerSum) {
  KernelTree tree("container");
  const TempDir places;
  const std::string a = places / "a", b = places / "b";
  for (const std::string& place : {a, b}) std::filesystem::create_directories(place);
  tree.write("proc/self/mountinfo",
             "21 1 8:1 / " + a + " rw - ext4 /dev/sda1 rw\n22 1 8:17 / " + b + " rw - ext4 /dev/sdb1 rw\n");
  ProbeBench bench(kDiskProbe, tree.roots());
  bench.tick();
  const double total = bench.cell("system_disk_space_total_gb");
  ASSERT_GT(total, 0);
  EXPECT_TRUE(bench.context.notes.empty());
  std::filesystem::remove(b);
  bench.tick();
  for (const char* name : {"system_disk_space_total_gb", "system_disk_space_used_gb", "system_disk_space_free_gb"})
    EXPECT_TRUE(is_absent(bench.cell(name))) << name;
  EXPECT_EQ(bench.context.notes.size(), 1u);
  std::filesystem::create_directories(b);
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_disk_space_total_gb"), total);
}

TEST(DiskProbe, SpacesAddUpInWhatIsPrinted) {
  const Column* columns[3] = {};
  for (const Column& column : kDiskProbe.columns)
    if (column.position >= 14 && column.position <= 16) columns[column.position - 14] = &column;
  const size_t total_field = columns[0]->field;
  const size_t free_field = columns[2]->field;
  for (int64_t total = 1'000'000'499'000; total < 1'000'001'600'000; total += 1'000)
    for (const int64_t free : {int64_t{0}, int64_t{499'999}, int64_t{500'000}, int64_t{500'001}, total / 3, total}) {
      Reading reading;
      reading.set(total_field, total);
      reading.set(free_field, free);
      long long printed[3];
      for (int i = 0; i < 3; ++i) printed[i] = std::llround(derive(*columns[i], reading, reading) * 1e3);
      ASSERT_EQ(printed[0], printed[1] + printed[2]) << total << " " << free;
    }
}

TEST(DiskProbe, DescribesDisksAndTheirMounts) {
  // The test's own folder as a mount: its real space must be found at the disk that has its device number.
  KernelTree tree("stacked_disks");
  TempDir mounted;
  tree.write("proc/self/mountinfo", "22 20 8:1 / " + mounted.path() + " rw - ext4 /dev/sda1 rw\n" +
                                        "20 1 0:9 / / rw - overlay overlay rw\n" +
                                        "29 20 0:43 / /usr rw - zfs tank rw\n");
  tree.write("proc/diskstats", tree.read("proc/diskstats") + "   7      99 loop99 0 0 0 0 0 0 0 0 0 0 0\n");
  tree.write("sys/block/loop99/size", "0\n");
  ProbeBench bench(kDiskProbe, tree.roots());
  bench.tick();
  const Detail detail = bench.detail();
  std::vector<std::string> names;
  for (const DiskDetail& disk : detail.disks) names.push_back(disk.device + (disk.counted ? "+" : "-"));
  // Every device, those too that nothing is attached to.
  EXPECT_EQ(names, (std::vector<std::string>{"bcache0-", "dm-0-", "fd0-", "loop0-", "loop99-", "md0-", "nvme0c0n1-",
                                             "nvme0n1+", "ram0-", "sda+", "sdaa+", "sdb+", "zfs:tank-", "zram0-"}));
  EXPECT_FALSE(detail.disks[4].capacity_bytes.has_value());
  EXPECT_FALSE(detail.disks[12].read_bytes.has_value());  // of a pool nothing is known but its space
  const DiskDetail& sda = detail.disks[9];
  EXPECT_EQ(sda.model, "ST4000NM0035");
  EXPECT_EQ(sda.vendor, "ATA");
  EXPECT_EQ(sda.device_type, "hdd");
  EXPECT_EQ(sda.capacity_bytes, int64_t{7814037168} * 512);
  EXPECT_EQ(sda.read_bytes, 2000 * 512);
  ASSERT_EQ(sda.mounts.size(), 1u);
  EXPECT_EQ(sda.mounts[0].mount_point, mounted.path());
  EXPECT_EQ(sda.mounts[0].filesystem, "ext4");
  EXPECT_EQ(sda.mounts[0].total_bytes, sda.mounts[0].used_bytes + sda.mounts[0].available_bytes);
  EXPECT_EQ(detail.disks[7].device_type, "nvme");
  EXPECT_EQ(detail.disks[7].serial, "S64GNE0R");
  EXPECT_FALSE(detail.disks[6].capacity_bytes.has_value());
  EXPECT_EQ(detail.disks[1].read_bytes, 4000 * 512);  // listed with its counters, though not counted
  struct statvfs real {};
  ASSERT_EQ(::statvfs(mounted.path().c_str(), &real), 0);
  EXPECT_EQ(sda.mounts[0].total_bytes, static_cast<int64_t>(real.f_blocks * real.f_frsize));
}

std::vector<std::string> mount_points(std::string_view mountinfo) {
  std::vector<std::string> paths;
  for (const FileSystem& entry : local_file_systems(mountinfo)) paths.push_back(entry.mount_point);
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(FileSystems, EachLocalOneOnce) {
  KernelTree tree("stacked_disks");
  // btrfs by its device (/var is shorter than /home), zfs by its pool, the bind mount of /data not at all.
  EXPECT_EQ(mount_points(tree.read("proc/self/mountinfo")),
            (std::vector<std::string>{"/", "/data", "/runs/back\\slash\ttab", "/tank", "/var"}));
}

TEST(FileSystems, OnlyRootWhenNothingIsLeft) {
  KernelTree tree("container");
  const auto entries = local_file_systems(tree.read("proc/self/mountinfo"));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].mount_point, "/");
  EXPECT_EQ(entries[0].type, "overlay");
  EXPECT_EQ(mount_points(""), std::vector<std::string>{"/"});
  EXPECT_EQ(mount_points("\xff\xfe damaged"), std::vector<std::string>{"/"});
}

TEST(FileSystems, MountsUnderOthersAreNotTouched) {
  constexpr std::string_view kRoot = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
  // A network mount on top of /data, and one on the folder above /a/b: both hide what was there before.
  EXPECT_EQ(mount_points(std::string(kRoot) + "21 20 8:2 / /data rw - ext4 /dev/sda2 rw\n" +
                         "22 21 0:50 / /data rw - nfs4 s:/x rw\n" + "23 20 8:3 / /a/b rw - ext4 /dev/sda3 rw\n" +
                         "24 20 0:51 / /a rw - nfs4 s:/y rw\n"),
            std::vector<std::string>{"/"});
  // The hidden one is found at its other mount point.
  EXPECT_EQ(mount_points(std::string(kRoot) + "21 20 8:2 / /data rw - ext4 /dev/sda2 rw\n" +
                         "22 21 0:50 / /data rw - nfs4 s:/x rw\n" + "25 20 8:2 / /elsewhere rw - ext4 /dev/sda2 rw\n"),
            (std::vector<std::string>{"/", "/elsewhere"}));
  // A mount inside of one that covers another is in sight; /runs is not below /run.
  EXPECT_EQ(mount_points(std::string(kRoot) + "21 20 0:30 / /mnt rw - tmpfs t rw\n" +
                         "22 21 8:2 / /mnt/x rw - ext4 /dev/sda2 rw\n" + "23 20 8:3 / /runs rw - ext4 /dev/sda3 rw\n" +
                         "24 20 0:31 / /run rw - tmpfs t rw\n"),
            (std::vector<std::string>{"/", "/mnt/x", "/runs"}));
}

TEST(FileSystems, NamesOfDevicesAreNotPrefixes) {
  EXPECT_EQ(
      local_file_systems("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 65:161 / /b rw - ext4 /dev/sdaa1 rw\n").size(),
      2u);
}

}  // namespace
}  // namespace tacho
