// What the machine-wide probes ask the system: block devices by sysfs, mounts, files of many pages, addresses.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "os/block.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/mounts.h"
#include "os/process.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

Roots fixture(const std::string& name) {
  const std::string root = std::string(TACHO_FIXTURES) + "/" + name;
  return {root + "/proc", root + "/sys", root + "/etc"};
}

TEST(Block, RolesComeFromSysfs) {
  const Roots roots = fixture("stacked_disks");
  EXPECT_EQ(block_role(roots, "sda"), BlockRole::bottom);
  EXPECT_EQ(block_role(roots, "nvme0n1"), BlockRole::bottom);
  EXPECT_EQ(block_role(roots, "sda1"), BlockRole::partition);
  EXPECT_EQ(block_role(roots, "nvme0n1p1"), BlockRole::partition);
  for (const char* name : {"dm-0", "md0", "bcache0", "loop0", "ram0", "zram0", "fd0", "nvme0c0n1"})
    EXPECT_EQ(block_role(roots, name), BlockRole::whole) << name;
  EXPECT_EQ(block_role(roots, "sdq"), BlockRole::unknown);
  EXPECT_EQ(block_role(fixture("no_sys"), "sda"), BlockRole::unknown);
}

TEST(Block, NamesThatOnlyBeginAlike) {
  for (const char* name : {"loop12", "zram0", "sr0", "fd0", "dm-12", "md127", "md_d0", "md_home"})
    EXPECT_TRUE(is_virtual_block_name(name)) << name;
  for (const char* name : {"sda", "srv", "fdisk", "mdraid", "ram", "nvme0n1", "vda", ""})
    EXPECT_FALSE(is_virtual_block_name(name)) << name;
}

TEST(Block, PartitionsByFolderNotByPrefix) {
  const Roots roots = fixture("stacked_disks");
  EXPECT_TRUE(is_partition_of(roots, "sda", "sda1"));
  EXPECT_FALSE(is_partition_of(roots, "sda", "sdaa1"));
  EXPECT_TRUE(is_partition_of(roots, "sdaa", "sdaa1"));
  EXPECT_FALSE(is_partition_of(roots, "sda", "sda"));
}

TEST(Block, SlashInANameIsABangInSysfs) {
  TempDir dir;
  std::filesystem::create_directories(dir / "sys/block/cciss!c0d0");
  spill(dir / "sys/block/cciss!c0d0/size", "2000\n");
  const Roots roots{dir / "proc", dir / "sys", dir / "etc"};
  EXPECT_EQ(block_role(roots, "cciss/c0d0"), BlockRole::bottom);
  EXPECT_EQ(block_facts(roots, "cciss/c0d0").capacity_bytes, 2000 * 512);
}

TEST(Block, ScsiSerialNumber) {
  TempDir dir;
  std::filesystem::create_directories(dir / "sys/block/sda/device");
  const Roots roots{dir / "proc", dir / "sys", dir / "etc"};
  spill(dir / "sys/block/sda/device/vpd_pg80", std::string("\0\x80\0\x08  ZC1234", 12));
  EXPECT_EQ(block_facts(roots, "sda").serial, "ZC1234");
  spill(dir / "sys/block/sda/device/vpd_pg80", std::string("\0\x80\0\x04\xff\xfe\0\0", 8));
  EXPECT_EQ(block_facts(roots, "sda").serial, "");
}

TEST(Block, StorageOfBottomLevelDisks) {
  // sda, sdb, sdaa and nvme0n1; md, dm, bcache, loop … stand on them or are no disks.
  EXPECT_EQ(total_storage_bytes(fixture("stacked_disks")), (2 * int64_t{7814037168} + 2000 + 1953525168) * 512);
  EXPECT_FALSE(total_storage_bytes(fixture("no_sys")).has_value());
  EXPECT_FALSE(total_storage_bytes(fixture("container")).has_value());
}

TEST(ReadBuffer, ReadsKernelFilesOfManyPages) {
  // /proc/kallsyms is handed out a page at a time, as a long /proc/diskstats is.
  const Fd fd(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
  ReadBuffer buffer;
  std::string_view text;
  if (!fd || !buffer.read(fd.get(), text) || text.size() < 2048) GTEST_SKIP() << "no long kernel file here";
  EXPECT_EQ(text.size(), slurp("/proc/kallsyms").size());
}

TEST(ReadBuffer, ReadsOrdinaryFilesOfAnySize) {
  TempDir dir;
  ReadBuffer buffer(64);
  for (const size_t size : {0u, 1u, 63u, 64u, 65u, 128u, 2047u, 2048u, 5000u}) {
    const std::string content(size, 'x');
    spill(dir / "file", content);
    KeptFile file(dir / "file");
    std::string_view text;
    ASSERT_TRUE(file.read(buffer, text));
    EXPECT_EQ(text, content);
    ASSERT_TRUE(file.read(buffer, text));
    EXPECT_EQ(text, content);
  }
}

TEST(Mounts, NothingChangedAndSpaceIsThere) {
  MountWatch watch("/proc/self/mountinfo");
  EXPECT_FALSE(watch.changed());
  MountWatch none("/nonexistent");
  EXPECT_FALSE(none.changed());
  Space space;
  ASSERT_TRUE(read_space("/", space));
  EXPECT_GE(space.total_bytes, space.free_bytes);
  EXPECT_FALSE(read_space("/nonexistent/none", space));
  EXPECT_FALSE(read_space("/proc", space));  // has no size
  EXPECT_FALSE(block_device_at("/").has_value());
}

TEST(SameFile, FollowsLinks) {
  TempDir dir;
  spill(dir / "a", "x");
  spill(dir / "b", "x");
  std::filesystem::create_symlink(dir / "a", dir / "link");
  EXPECT_TRUE(same_file(dir / "a", dir / "link"));
  EXPECT_FALSE(same_file(dir / "a", dir / "b"));
  EXPECT_FALSE(same_file(dir / "a", dir / "none"));
}

TEST(Identity, AddressesAreNumbers) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_GT(online_cpus(), 0);
  const std::string all[] = {default_source_address(), first_interface_address([](std::string_view) { return false; })};
  for (const std::string& address : all) {
    unsigned char raw[16];
    if (address.empty()) continue;  // no network here
    EXPECT_EQ(::inet_pton(address.find(':') == std::string::npos ? AF_INET : AF_INET6, address.c_str(), raw), 1)
        << address;
  }
  EXPECT_EQ(first_interface_address([](std::string_view) { return true; }), "");
}

TEST(ShareMemory, OfOneselfAndAFork) {
  const auto self = share_memory(::getpid(), ::getpid());
  if (!self) GTEST_SKIP() << "kcmp is not allowed here";
  EXPECT_TRUE(*self);
  const pid_t child = ::fork();
  if (child == 0) ::pause(), ::_exit(0);
  EXPECT_EQ(share_memory(::getpid(), child), false);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(share_memory(::getpid(), 0));
}

TEST(FilesOfARun, APipeIsNotWaitedForAndALinkOnlyWhereItMayBe) {
  const TempDir dir;
  spill(dir / "file", "text");
  std::filesystem::create_symlink("file", dir / "link");
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_plain_file(dir / "file").value_or(""), "text");
  EXPECT_FALSE(read_plain_file(dir / "link"));
  EXPECT_EQ(read_regular_file(dir / "link").value_or(""), "text");
  EXPECT_FALSE(read_regular_file(dir / "file", 4));
  for (const char* name : {"pipe", "none"}) {
    EXPECT_FALSE(read_plain_file(dir / name));
    EXPECT_FALSE(read_regular_file(dir / name));
  }
}

TEST(ProcView, NumbersMustBeOurs) {
  const TempDir dir;
  const std::string proc = dir / "proc";
  EXPECT_EQ(proc_view(proc), ProcView::missing);
  const std::string own = std::to_string(::getpid()), other = own + "0";
  for (const std::string& pid : {own, other}) {
    std::filesystem::create_directories(proc + "/" + pid);
    spill(proc + "/" + pid + "/stat", "");
  }
  EXPECT_EQ(proc_view(proc), ProcView::missing) << "a /proc that does not show tacho";
  std::filesystem::create_symlink(other, proc + "/self");
  EXPECT_EQ(proc_view(proc), ProcView::foreign);
  EXPECT_NE(check_proc_view(proc).error().what.find("another PID namespace"), std::string::npos);
  std::filesystem::remove(proc + "/self");
  std::filesystem::create_symlink(own, proc + "/self");
  EXPECT_EQ(proc_view(proc), ProcView::ours);
  EXPECT_EQ(proc_view("/proc"), ProcView::ours);
}

}  // namespace
}  // namespace tacho
