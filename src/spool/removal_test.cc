#include "spool/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "os/file.h"
#include "support/spool_case.h"

namespace tacho {
namespace {

using SpoolRemoval = SpoolCase;

// Only what the spool made is removed; with anything else the folder stays, under its own name.
TEST_F(SpoolRemoval, RemovesNothingButItsOwn) {
  SpoolWriter writer = create();
  ASSERT_TRUE(writer.append("1,2,3\n") && writer.seal() && writer.write_meta("{}", false));
  const std::string folder = writer.folder();
  spill(dir_ / "victim", "precious");
  spill(folder + "/thesis.txt", "mine");
  ASSERT_EQ(::symlink((dir_ / "victim").c_str(), (folder + "/000007.csv").c_str()), 0);
  ASSERT_EQ(::mkdir((folder + "/sub").c_str(), 0700), 0);
  SpoolRun run(folder);
  EXPECT_EQ(run.remove(), folder);
  std::vector<std::string> left;
  list_directory(folder, [&](std::string_view name) { left.emplace_back(name); });
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"000007.csv", "sub", "thesis.txt"}));
  EXPECT_EQ(slurp(dir_ / "victim"), "precious");
}

// Killed between two steps of a removal.
TEST_F(SpoolRemoval, DeliveredFoldersAreSwept) {
  const std::string roots[] = {dir_.path() + "/first", dir_.path() + "/second"};
  std::vector<std::string> names;
  {
    SpoolWriter done = create({roots[0], roots[1]}), other = create({roots[0], roots[1]});
    for (SpoolWriter* writer : {&done, &other}) {
      ASSERT_EQ(::mkdir((writer->folder() + "/000000.open").c_str(), 0700), 0);
      ASSERT_TRUE(writer->append("1,2,3\n") && writer->seal());
      ASSERT_EQ(::rmdir((writer->folder() + "/000000.open").c_str()), 0);
      names.push_back(SpoolRun(writer->folder()).name());
      std::filesystem::rename(writer->folder(), roots[0] + "/.delivered-" + names.back());
    }
    EXPECT_TRUE(sweep_delivered(roots[0]).empty());  // somebody is at it
    EXPECT_TRUE(file_exists(roots[0] + "/.delivered-" + names[0] + "/lock"));
  }
  spill(roots[0] + "/.delivered-" + names[1] + "/thesis.txt", "mine");
  spill(roots[0] + "/.delivered-notes", "mine");
  EXPECT_EQ(sweep_delivered(roots[0]), std::vector<std::string>{roots[0] + "/.delivered-" + names[1]});
  std::vector<std::string> left;
  for (const std::string& root : roots) list_directory(root, [&](std::string_view name) { left.emplace_back(name); });
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{".delivered-" + names[1], ".delivered-notes"}));
}

// An overflow is followed only where it is ours.
TEST_F(SpoolRemoval, OverflowOfSomebodyElseIsNotFollowed) {
  SpoolWriter writer = create({dir_ / "first"});
  ASSERT_TRUE(writer.append("1,2,3\n") && writer.seal());
  const std::string name = SpoolRun(writer.folder()).name();
  std::filesystem::create_directories(dir_ / "home");
  spill(dir_ / "home/000000.csv", "precious");
  spill(dir_ / "home/meta.json", R"({"api_url":"https://evil"})");
  std::filesystem::create_directories(dir_ / "planted");
  ASSERT_EQ(::symlink((dir_ / "home").c_str(), (dir_ / ("planted/" + name + ".overflow")).c_str()), 0);
  spill(writer.folder() + "/overflow", dir_ / ("planted/" + name + ".overflow\n"));
  SpoolRun run(writer.folder());
  EXPECT_FALSE(run.meta());
  EXPECT_EQ(run.sealed().size(), 1u);
  EXPECT_EQ(run.remove(), "");
  EXPECT_EQ(slurp(dir_ / "home/000000.csv"), "precious");
  EXPECT_TRUE(file_exists(dir_ / "home/meta.json"));
}

}  // namespace
}  // namespace tacho
