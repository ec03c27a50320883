#include "os/output_target.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/line_file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(OutputTarget, FollowsLinksAlsoToWhatIsNotThereYet) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "real");
  std::filesystem::create_symlink("real", dir / "folder");
  std::filesystem::create_symlink("../real/later", dir / "real/link");
  EXPECT_EQ(*output_target(dir / "folder/link"), dir / "real/../real/later");
  EXPECT_EQ(*output_target(dir / "folder/none"), dir / "real/none");
  EXPECT_EQ(*output_target("none"), "none");
  std::filesystem::create_symlink("loop", dir / "loop");
  EXPECT_FALSE(output_target(dir / "loop"));
}

TEST(OutputTarget, OfAStrangersLinkWhereEverybodyWrites) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a stranger's file";
  constexpr uid_t kStranger = 65534;
  const TempDir dir;
  const std::string open = dir / "open", link = open + "/link", folder = open + "/folder";
  ASSERT_EQ(::mkdir(open.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  std::filesystem::create_symlink("../precious", link);
  std::filesystem::create_symlink("..", folder);
  EXPECT_TRUE(output_target(link));  // our own
  ASSERT_EQ(::lchown(link.c_str(), kStranger, kStranger), 0);
  ASSERT_EQ(::lchown(folder.c_str(), kStranger, kStranger), 0);
  for (const std::string& path : {link, folder + "/precious"}) {
    const auto target = output_target(path);
    ASSERT_FALSE(target) << path;
    EXPECT_EQ(target.error().code, Code::denied);
    EXPECT_FALSE(write_output(path, "text", 0666, 0));
  }
  EXPECT_FALSE(file_exists(dir / "precious"));
  ASSERT_EQ(::chown(open.c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(output_target(link));  // of the folder's owner
}

TEST(OutputTarget, OfAStrangersFileWhereEverybodyWrites) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes a stranger's file";
  constexpr uid_t kStranger = 65534;
  const TempDir dir;
  const std::string open = dir / "open", file = open + "/file", pipe = open + "/pipe", named = open + "/named";
  ASSERT_EQ(::mkdir(open.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  spill(file, "theirs");
  EXPECT_TRUE(output_target(file));  // our own
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  for (const std::string& path : {file, pipe}) {
    ASSERT_EQ(::chown(path.c_str(), kStranger, kStranger), 0);
    EXPECT_FALSE(output_target(path));
    EXPECT_FALSE(LineFile::open(path));
    EXPECT_FALSE(write_output(path, "text", 0666, 0));
  }
  EXPECT_EQ(slurp(file), "theirs");
  spill(dir / "precious", "ours");
  std::filesystem::create_hard_link(dir / "precious", named);
  EXPECT_FALSE(LineFile::open(named));
  EXPECT_EQ(slurp(dir / "precious"), "ours");
  EXPECT_TRUE(output_target(dir / "precious"));  // not in such a folder
}

TEST(OutputTarget, AnOutputReplacesWhatTheLinkLeadsTo) {
  const TempDir dir;
  std::filesystem::create_symlink("real", dir / "link");
  ASSERT_TRUE(write_output(dir / "link", "text", 0666, 0));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(slurp(dir / "real"), "text");
}

}  // namespace
}  // namespace tacho
