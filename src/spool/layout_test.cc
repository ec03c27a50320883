#include "spool/layout.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/crc32c.h"
#include "os/file.h"
#include "support/spool_case.h"

namespace tacho {
namespace {

using SpoolRoots = SpoolCase;

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // the check value of the algorithm
  EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xe3069283u);
}

TEST(Layout, SegmentNames) {
  EXPECT_EQ(segment_name(3, kSealedEnding), "000003.csv");
  EXPECT_EQ(segment_name(1234567, kOpenEnding), "1234567.open");
  EXPECT_EQ(segment_number("000003.csv", kSealedEnding), 3u);
  EXPECT_EQ(segment_number("000003.open", kSealedEnding), std::nullopt);
  EXPECT_EQ(segment_number("meta.csv", kSealedEnding), std::nullopt);
  EXPECT_EQ(segment_number("00003.csv", kSealedEnding), std::nullopt);
}

TEST(Layout, NamesThatTheSpoolMakes) {
  for (const char* name : {"lock", "meta.json", "state.json", "seals", "overflow", "000000.csv", "000012.rec",
                           "1234567.open", "meta.json.tmp0a1b2c3d4e5f6071", "state.json.tmp4711", "000000.csv.tmpffff"})
    EXPECT_TRUE(is_spool_file(name)) << name;
  for (const char* name : {"thesis.txt", "data.csv", "12.csv", "00000a.csv", "-00001.csv", "000000.csv.bak",
                           "meta.json~", "lock.txt", "0000001.csv", "thesis.txt.tmp1", ".lock", "000000.csv.gz"})
    EXPECT_FALSE(is_spool_file(name)) << name;
  EXPECT_TRUE(is_run_name("20261115T140000Z-123-0a1b2c3d"));
  for (const char* name :
       {"20261115T140000Z-123-0a1b2c3d.overflow", ".delivered-20261115T140000Z-123-0a1b2c3d", "20261115T140000Z",
        "backup", "20261115T140000Z-x-0a1b2c3d", "2026111xT140000Z-1-a", "20261115T140000Z-123-"})
    EXPECT_FALSE(is_run_name(name)) << name;
}

TEST_F(SpoolRoots, RootsInOrder) {
  ::setenv("TACHO_SPOOL_DIR", "/a/", 1);
  ::setenv("XDG_STATE_HOME", "/b", 1);
  ::setenv("HOME", "/c", 1);
  const auto roots = spool_roots();
  ASSERT_EQ(roots.size(), 6u);
  EXPECT_EQ(roots[0], "/a");
  EXPECT_EQ(roots[1], "/b/tacho/spool");
  EXPECT_EQ(roots[2], "/c/.local/state/tacho/spool");
  EXPECT_TRUE(roots[3].starts_with("/var/tmp/tacho-"));
  EXPECT_TRUE(roots[4].starts_with("/tmp/tacho-"));
  EXPECT_TRUE(roots[5].starts_with("/dev/shm/tacho-"));
  ::unsetenv("TACHO_SPOOL_DIR");
}

TEST_F(SpoolRoots, WhereSomebodyWasFirstThereIsAnotherName) {
  EXPECT_EQ(roots_in(dir_.path(), "tacho-1"), std::vector<std::string>{dir_ / "tacho-1"});
  std::filesystem::create_directory_symlink("/", dir_ / "tacho-1");
  const auto roots = roots_in(dir_.path(), "tacho-1");
  ASSERT_EQ(roots.size(), 2u);
  EXPECT_EQ(roots[0], dir_ / "tacho-1");
  EXPECT_EQ(roots[1].size(), roots[0].size() + 17);
  EXPECT_NE(roots_in(dir_.path(), "tacho-1")[1], roots[1]);
  EXPECT_TRUE(SpoolWriter::create(roots, kUtc));
  EXPECT_EQ(roots_in(dir_.path(), "tacho-1"), roots);  // found again
  std::filesystem::create_directory_symlink(roots[1], dir_ / "tacho-1-0123");
  EXPECT_EQ(roots_in(dir_.path(), "tacho-1"), roots);
}

// A folder that everybody may write to is shared: each user has a folder of his own in it.
TEST_F(SpoolRoots, SharedFolderGetsOneOfOurOwn) {
  const std::string own = dir_.path() + "/tacho-" + std::to_string(::getuid());
  EXPECT_EQ(private_root(dir_.path() + "/"), dir_.path());
  for (const mode_t mode : {01777, 0777, 0770}) {
    ASSERT_EQ(::chmod(dir_.path().c_str(), mode), 0);
    EXPECT_EQ(private_root(dir_.path()), own);
    EXPECT_FALSE(SpoolWriter::create({dir_.path()}, kUtc));
    EXPECT_TRUE(SpoolWriter::create({own}, kUtc));
  }
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0700), 0);
  EXPECT_EQ(private_root(dir_ / "none"), dir_ / "none");
  ASSERT_EQ(::symlink(own.c_str(), (dir_ / "link").c_str()), 0);
  EXPECT_EQ(private_root(dir_ / "link"), dir_ / "link");
  EXPECT_FALSE(SpoolWriter::create({dir_ / "link"}, kUtc));
  EXPECT_TRUE(spool_folders(dir_ / "link").empty());
  EXPECT_EQ(spool_folders(own).size(), 3u);
}

TEST(SpoolLimit, OneReadingForAllPrograms) {
  ::unsetenv("TACHO_SPOOL_MAX");
  EXPECT_TRUE(!spool_limit("So.").bytes && spool_limit("So.").complaint.empty());
  ::setenv("TACHO_SPOOL_MAX", "2K", 1);
  EXPECT_EQ(spool_limit("So.").bytes, 2048);
  ::setenv("TACHO_SPOOL_MAX", "much", 1);
  EXPECT_FALSE(spool_limit("So.").bytes);
  EXPECT_EQ(spool_limit("So.").complaint, "TACHO_SPOOL_MAX is no size: much; write bytes, or 500M or 2G. So.");
  ::unsetenv("TACHO_SPOOL_MAX");
}

}  // namespace
}  // namespace tacho
