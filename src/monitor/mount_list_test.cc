#include "monitor/mount_list.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "30 22 8:16 / /mnt/disks/cromwell_root rw - ext4 /dev/sdb rw\n"
    "31 22 8:32 / /mnt/disks/my\\040disk rw - ext4 /dev/sdc rw\n"
    "32 22 8:48 / /mnt/disks/ref ro - ext4 /dev/sdd ro\n"
    "33 22 0:50 / /mnt/disks/gcs rw - fuse.gcsfuse bucket rw\n"
    "34 22 0:51 / /net rw - nfs4 server:/x rw\n"
    "35 22 8:64 / /mnt/disks/twice rw - ext4 /dev/sde rw\n"
    "36 35 8:80 / /mnt/disks/twice rw - xfs /dev/sdf rw\n"
    "37 22 0:60 / /mnt/disks/ref2\\134x rw shared:1 - tmpfs tmpfs rw\n";

MountChoice asking(std::vector<std::string> mounts) {
  return {std::move(mounts), "/home/user", false, [](const std::string&) { return false; }};
}

TEST(MountList, TheBucketIsNoDiskEvenWhereItsMountIsNotSeen) {
  constexpr std::string_view kUnseen = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n";
  const auto chosen = choose_mounts(asking({"/mnt/disks/cromwell_root", "/mnt/disks/gcs/"}), kUnseen);
  EXPECT_EQ(chosen.mounts, std::vector<std::string>{"/mnt/disks/cromwell_root"});
  EXPECT_EQ(chosen.left_out, std::vector<std::string>{"/mnt/disks/gcs/"});
  const std::string disk = std::string(kUnseen) + "30 22 8:16 / /mnt/disks/gcs rw - ext4 /dev/sdb rw\n";
  EXPECT_EQ(choose_mounts(asking({"/mnt/disks/gcs"}), disk).mounts, std::vector<std::string>{"/mnt/disks/gcs"})
      << "a disk";
}

TEST(MountList, WhatAnswersFromMemory) {
  for (const char* path : {"/", "/tmp", "/mnt/disks/cromwell_root", "/mnt/disks/cromwell_root/", "/mnt/disks/twice/x"})
    EXPECT_TRUE(answers_from_memory(kMounts, path)) << path;
  for (const char* path : {"/net", "/net/x", "/mnt/disks/gcs"})
    EXPECT_FALSE(answers_from_memory(kMounts, path)) << path;
  const std::string below = std::string(kMounts) + "40 34 8:96 / /net/disk rw - ext4 /dev/sdg rw\n";
  EXPECT_FALSE(answers_from_memory(below, "/net/disk")) << "the way to it may hang";
  EXPECT_FALSE(answers_from_memory("", "/"));
}

TEST(MountList, FindsTheDeviceOfAMountPoint) {
  const auto place = find_mount(kMounts, "/mnt/disks/cromwell_root");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->device, (DeviceNumber{8, 16}));
  EXPECT_TRUE(place->exact);
  EXPECT_TRUE(find_mount(kMounts, "/mnt/disks/cromwell_root/")->exact);
}

TEST(MountList, DecodesOctalEscapes) {
  EXPECT_EQ(find_mount(kMounts, "/mnt/disks/my disk")->device, (DeviceNumber{8, 32}));
  EXPECT_EQ(find_mount(kMounts, "/mnt/disks/ref2\\x")->type, "tmpfs");
}

TEST(MountList, TheLastLineWins) { EXPECT_EQ(find_mount(kMounts, "/mnt/disks/twice")->source, "/dev/sdf"); }

TEST(MountList, APathTakesTheLongestPrefix) {
  const auto inside = find_mount(kMounts, "/mnt/disks/cromwell_root/a/b");
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->device, (DeviceNumber{8, 16}));
  EXPECT_FALSE(inside->exact);
  EXPECT_EQ(find_mount(kMounts, "/mnt/disks/cromwell_root2")->mount_point, "/") << "whole components only";
  EXPECT_EQ(find_mount(kMounts, "relative"), std::nullopt);
  EXPECT_EQ(find_mount("", "/"), std::nullopt);
}

TEST(MountList, RemoteFileSystemsAreLeftOutAndOrderStays) {
  const auto chosen =
      choose_mounts(asking({"/mnt/disks/ref", "/mnt/disks/gcs", "/net/home", "/mnt/disks/cromwell_root"}), kMounts);
  EXPECT_EQ(chosen.mounts, (std::vector<std::string>{"/mnt/disks/ref", "/mnt/disks/cromwell_root"}));
  EXPECT_EQ(chosen.left_out, (std::vector<std::string>{"/mnt/disks/gcs", "/net/home"}));
  EXPECT_EQ(working_mount(chosen.mounts), "/mnt/disks/cromwell_root") << "not simply the first";
  MountChoice all = asking({"/mnt/disks/gcs"});
  all.with_remote = true;
  EXPECT_EQ(choose_mounts(all, kMounts).mounts, std::vector<std::string>{"/mnt/disks/gcs"});
}

TEST(MountList, ThereIsAlwaysOne) {
  EXPECT_EQ(choose_mounts(asking({}), kMounts).mounts, std::vector<std::string>{"/"});
  EXPECT_EQ(choose_mounts(asking({"/mnt/disks/gcs"}), kMounts).mounts, std::vector<std::string>{"/"});
  EXPECT_EQ(choose_mounts(asking({}), "").mounts, std::vector<std::string>{"/"});
  MountChoice here = asking({});
  here.folder = "/mnt/disks/my disk/work";
  EXPECT_EQ(choose_mounts(here, kMounts).mounts, std::vector<std::string>{"/mnt/disks/my disk"});
  here.exists = [](const std::string& path) { return path == "/mnt/disks/cromwell_root"; };
  EXPECT_EQ(choose_mounts(here, kMounts).mounts, std::vector<std::string>{"/mnt/disks/cromwell_root"});
  here.exists = [](const std::string&) { return true; };
  EXPECT_EQ(choose_mounts(here, kMounts).mounts, std::vector<std::string>{"/cromwell_root"});
  EXPECT_EQ(choose_mounts(asking({"/no/such"}), kMounts).mounts, std::vector<std::string>{"/no/such"})
      << "it may come yet";
}

}  // namespace
}  // namespace tacho
