#include "monitor/mount_disks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/units.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr const char* kRoot = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
constexpr const char* kWork = "30 22 8:16 / /work rw - ext4 /dev/sdb rw\n";

std::string disk_line(int minor, const char* name, int64_t reads, int64_t writes, int64_t sectors, int64_t io_ms) {
  return "8 " + std::to_string(minor) + " " + name + " " + std::to_string(reads) + " 0 " + std::to_string(sectors) +
         " 0 " + std::to_string(writes) + " 0 " + std::to_string(2 * sectors) + " 0 0 " + std::to_string(io_ms) +
         " 0\n";
}

// A kernel tree of two files, and file systems that answer as they are told.
class MountDisksTest : public testing::Test {
 protected:
  MountDisksTest() {
    roots_.proc = dir_ / "proc";
    std::filesystem::create_directories(roots_.proc + "/self");
    mounts(std::string(kRoot) + kWork);
    stats(0, 0, 0, 0);
  }
  void mounts(const std::string& text) { spill(roots_.proc + "/self/mountinfo", text); }
  void stats(int64_t reads, int64_t writes, int64_t sectors, int64_t io_ms) {
    spill(roots_.proc + "/diskstats",
          disk_line(1, "sda1", 5, 5, 5, 5) + disk_line(16, "sdb", reads, writes, sectors, io_ms));
  }
  std::unique_ptr<MountDisks> watch(std::vector<std::string> paths) {
    return std::make_unique<MountDisks>(roots_, std::move(paths),
                                        [this](const std::string& path, Space& space, std::string&) {
                                          if (broken_ == path) return false;
                                          space = {100'000'000'000, 60'000'000'000, 30'000'000'000};
                                          return true;
                                        });
  }
  std::span<const DiskValues> read(MountDisks& disks, int64_t seconds) {
    disks.prepare();
    disks.read(seconds * kNsPerSec, buffer_);
    return disks.values();
  }

  TempDir dir_;
  Roots roots_;
  ReadBuffer buffer_;
  std::string broken_;
};

TEST_F(MountDisksTest, RatesFollowFromTwoReadings) {
  const auto disks = watch({"/work"});
  read(*disks, 10);
  stats(100, 50, 4000, 500);
  const DiskValues& work = read(*disks, 12)[0];
  EXPECT_TRUE(work.ok);
  EXPECT_EQ(work.device, "sdb");
  EXPECT_DOUBLE_EQ(work.total_gb, 100);
  EXPECT_DOUBLE_EQ(work.used_gb, 30) << "without what is kept for root";
  EXPECT_DOUBLE_EQ(work.read_iops, 50);
  EXPECT_DOUBLE_EQ(work.write_iops, 25);
  EXPECT_DOUBLE_EQ(work.read_mb_per_s, 4000 * 512 / 2 / 1e6);
  EXPECT_DOUBLE_EQ(work.write_mb_per_s, 8000 * 512 / 2 / 1e6);
  EXPECT_DOUBLE_EQ(work.busy_percent, 25);
}

TEST_F(MountDisksTest, ACounterThatGoesBackGivesNothingAndCountsAnew) {
  const auto disks = watch({"/work"});
  stats(4'294'967'290, 50, 4000, 500);
  read(*disks, 10);
  stats(10, 60, 10, 100);
  const DiskValues& work = read(*disks, 11)[0];
  EXPECT_EQ(work.read_iops, 0);
  EXPECT_EQ(work.write_iops, 10);
  EXPECT_EQ(work.busy_percent, 0);
  stats(30, 60, 10, 100);
  EXPECT_EQ(read(*disks, 12)[0].read_iops, 20);
}

TEST_F(MountDisksTest, AFailingMountKeepsItsLastValuesAndSaysSo) {
  const auto disks = watch({"/work", "/"});
  read(*disks, 10);
  stats(100, 50, 4000, 500);
  read(*disks, 11);
  broken_ = "/work";
  stats(100, 50, 4000, 500);
  const auto values = read(*disks, 12);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_FALSE(values[0].ok);
  EXPECT_DOUBLE_EQ(values[0].used_gb, 30);
  EXPECT_TRUE(values[1].ok) << "one that fails costs no other";
  broken_.clear();
  EXPECT_TRUE(read(*disks, 13)[0].ok);
}

TEST_F(MountDisksTest, AMountThatVanishesIsNotTheDiskBelowIt) {
  const auto disks = watch({"/work"});
  read(*disks, 10);
  stats(100, 0, 0, 0);
  EXPECT_EQ(read(*disks, 11)[0].read_iops, 100);
  mounts(kRoot);
  spill(roots_.proc + "/diskstats", disk_line(1, "sda1", 900, 5, 5, 5));
  read(*disks, 12);  // sees that its device is gone
  for (int64_t second : {14, 16}) {
    const DiskValues& work = read(*disks, second)[0];
    EXPECT_FALSE(work.ok);
    EXPECT_EQ(work.read_iops, 100) << "the last known value";
    EXPECT_EQ(work.device, "sdb");
  }
  mounts(std::string(kRoot) + kWork);
  stats(0, 0, 0, 0);
  EXPECT_TRUE(read(*disks, 18)[0].ok);
}

TEST_F(MountDisksTest, AMountThatComesLateIsFound) {
  mounts(kRoot);
  broken_ = "/work";
  const auto disks = watch({"/work"});
  EXPECT_FALSE(read(*disks, 10)[0].ok);
  EXPECT_EQ(read(*disks, 11)[0].total_gb, 0);
  broken_.clear();
  mounts(std::string(kRoot) + kWork);
  const DiskValues& work = read(*disks, 13)[0];
  EXPECT_TRUE(work.ok);
  EXPECT_EQ(work.device, "sdb");
}

TEST_F(MountDisksTest, WhatLiesInMemoryHasNoDiskToMiss) {
  const auto at = [](const char* type) {
    return std::string(kRoot) + "30 22 0:77 / /work rw - " + type + " none rw\n";
  };
  mounts(at("tmpfs"));
  const auto disks = watch({"/work"});
  read(*disks, 10);
  const DiskValues& work = read(*disks, 11)[0];
  EXPECT_TRUE(work.ok);
  EXPECT_EQ(work.read_iops, 0);
  broken_ = "/work";
  EXPECT_FALSE(read(*disks, 13)[0].ok) << "it is gone";
  broken_.clear();
  mounts(at("overlay"));
  EXPECT_FALSE(read(*watch({"/work"}), 10)[0].ok) << "what its disk does is not known";
}

// Where nothing can hang, no thread is asked: a busy machine wakes it too late.
TEST_F(MountDisksTest, LocalDisksAreAskedOnTheSpot) {
  const std::string work = std::filesystem::canonical(std::string(dir_ / ".")).string() + "/work";
  std::filesystem::create_directories(work);
  std::set<std::thread::id> asked_on;
  const auto ask = [&](const std::string&, Space& space, std::string&) {
    asked_on.insert(std::this_thread::get_id());
    space = {100, 60, 30};
    return true;
  };
  const auto look = [&](const std::string& type, const std::string& path) {
    asked_on.clear();
    mounts(std::string(kRoot) + "30 22 8:16 / " + work + " rw - " + type + " /dev/sdb rw\n");
    MountDisks disks(roots_, {path}, ask);
    EXPECT_TRUE(read(disks, 10)[0].ok) << type;
    return asked_on == std::set{std::this_thread::get_id()};
  };
  EXPECT_TRUE(look("ext4", work));
  EXPECT_TRUE(look("xfs", work));
  EXPECT_FALSE(look("nfs4", work));
  EXPECT_FALSE(look("fuse.gcsfuse", work));
  std::filesystem::create_symlink(work, work + "-link");
  EXPECT_FALSE(look("ext4", work + "-link")) << "a link may lead anywhere";
}

TEST_F(MountDisksTest, WithoutKernelFilesTheArraysKeepTheirLength) {
  roots_.proc = dir_ / "nothing";
  const auto disks = watch({"/work", "/x"});
  const auto values = read(*disks, 10);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_FALSE(values[0].ok || values[1].ok);
  EXPECT_EQ(values[1].mount, "/x");
}

TEST(SpaceWorkers, AHangingMountCostsNoOther) {
  std::atomic<bool> hang{true};
  const auto ask = [&hang](const std::string& path, Space& space, std::string&) {
    while (path == "/hangs" && hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    space.total_bytes = 7;
    return true;
  };
  SpaceWorkers workers({"/a", "/hangs", "/b"}, ask);
  std::vector<SpaceAnswer> answers;
  for (int round = 0; round < 3; ++round) {
    workers.request();
    workers.take(100 * kNsPerMs, answers);
    EXPECT_TRUE(answers[0].ok) << round;
    EXPECT_FALSE(answers[1].ok) << round;
    EXPECT_TRUE(answers[2].ok) << round;
  }
  hang = false;
  bool back = false;
  for (int round = 0; round < 1000 && !back; ++round) {
    workers.request();
    workers.take(100 * kNsPerMs, answers);
    back = answers[1].ok;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(back);
}

TEST(SpaceWorkers, AsksTheKernel) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "real");
  std::filesystem::create_symlink(dir / "real", dir / "link");
  SpaceWorkers workers({dir / "link", dir / "nothing"});
  std::vector<SpaceAnswer> answers;
  workers.request();
  workers.take(5 * kNsPerSec, answers);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[0].ok);
  EXPECT_EQ(answers[0].real_path, std::filesystem::canonical(dir / "real").string());
  EXPECT_GT(answers[0].space.total_bytes, 0);
  EXPECT_LE(answers[0].space.used_bytes, answers[0].space.total_bytes);
  EXPECT_FALSE(answers[1].ok);
}

}  // namespace
}  // namespace tacho
