#include "spool/disk_sync.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "os/file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr int64_t kPatience_ns = 60 * kNsPerSec;

TEST(DiskSync, WhatIsGoneWasSent) {
  const TempDir dir;
  ASSERT_TRUE(write_file_atomically(dir / "000000.csv", "a row\n", false));
  DiskSync disk;
  EXPECT_TRUE(disk.wait(0)) << "nothing was asked for";
  disk.request(dir.path(), {"000000.csv", "000001.csv"});
  disk.request(dir.path(), {});
  disk.request(dir / "gone", {"000000.csv"});
  EXPECT_TRUE(disk.wait(kPatience_ns));
  EXPECT_TRUE(disk.status());
}

TEST(DiskSync, TellsOnceWhatTheDiskRefuses) {
  DiskSync disk;
  disk.request("/dev", {"null"});  // a device that knows no fdatasync
  disk.request("/dev", {"gone"});
  EXPECT_TRUE(disk.wait(kPatience_ns));
  const Status status = disk.status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().path, "/dev/null");
  EXPECT_TRUE(disk.status());
}

}  // namespace
}  // namespace tacho
