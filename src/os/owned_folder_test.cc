#include "os/owned_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "os/file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  list_directory(path, [&](std::string_view name) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

TEST(OwnedFolder, IsOursAloneAndNoLink) {
  const TempDir dir;
  ASSERT_TRUE(OwnedFolder::open(dir.path()));
  EXPECT_EQ(OwnedFolder::open(dir / "none").error().code, Code::not_available);
  ASSERT_EQ(::symlink(dir.path().c_str(), (dir / "link").c_str()), 0);
  for (const char* path : {"link", "link/", "link//"})
    EXPECT_EQ(OwnedFolder::open(dir / path).error().code, Code::denied) << path;
  EXPECT_EQ(OwnedFolder::open(dir.path())->open_folder("link").error().code, Code::denied);
  spill(dir / "file", "x");
  EXPECT_EQ(OwnedFolder::open(dir / "file").error().code, Code::denied);
  for (const mode_t mode : {0770, 0707, 0777, 01777}) {
    ASSERT_EQ(::chmod(dir.path().c_str(), mode), 0);
    EXPECT_EQ(OwnedFolder::open(dir.path()).error().code, Code::denied) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  EXPECT_TRUE(OwnedFolder::open(dir.path()));
  if (::geteuid() != 0) GTEST_SKIP() << "another user's folder needs root";
  ASSERT_EQ(::chown(dir.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(OwnedFolder::open(dir.path()).error().hint, "it belongs to another user");
}

// What somebody else put there is neither followed, waited for, changed nor removed.
TEST(OwnedFolder, LeavesAloneWhatItDidNotMake) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "ours");
  spill(dir / "victim", "precious");
  const OwnedFolder folder = std::move(*OwnedFolder::open(dir / "ours"));
  ASSERT_EQ(::symlink((dir / "victim").c_str(), (dir / "ours/link").c_str()), 0);
  ASSERT_EQ(::link((dir / "victim").c_str(), (dir / "ours/hard").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir / "ours/pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(dir / "ours/folder");
  std::vector<std::string> strange{"link", "hard", "pipe", "folder"};
  if (::geteuid() == 0) {
    spill(dir / "ours/foreign", "precious");
    ASSERT_EQ(::chown((dir / "ours/foreign").c_str(), 65534, 65534), 0);
    strange.emplace_back("foreign");
  }
  const auto before = names_in(dir / "ours");
  for (const std::string& name : strange) {
    for (const int flags : {O_RDONLY, O_RDWR, O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT | O_APPEND}) {
      const auto file = folder.open_file(name, flags);
      ASSERT_FALSE(file) << name;
      EXPECT_EQ(file.error().code, Code::denied) << name << " " << file.error().message();
    }
    EXPECT_FALSE(folder.read(name));
    EXPECT_FALSE(folder.has_file(name));
    EXPECT_TRUE(folder.has_entry(name));
    EXPECT_FALSE(folder.write_atomically(name, "evil", true));
    EXPECT_FALSE(folder.remove_file(name));
    EXPECT_FALSE(folder.rename_file(name, "other"));
    EXPECT_EQ(folder.file_bytes(name), 0);
    ASSERT_TRUE(folder.write_atomically("good", "x", false));
    EXPECT_FALSE(folder.rename_file("good", name));
    ASSERT_TRUE(folder.remove_file("good"));
  }
  EXPECT_EQ(names_in(dir / "ours"), before);
  EXPECT_EQ(slurp(dir / "victim"), "precious");
  for (const char* name : {"", ".", "..", "../victim", "a/b"}) {
    EXPECT_FALSE(folder.read(name)) << name;
    EXPECT_FALSE(folder.write_atomically(name, "x", false)) << name;
    EXPECT_FALSE(folder.remove_file(name)) << name;
  }
}

// The folder is held: what is put in its place later is never touched.
TEST(OwnedFolder, IsNotSwappedUnderOurHands) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "run");
  std::filesystem::create_directory(dir / "victim");
  const OwnedFolder root = std::move(*OwnedFolder::open(dir.path())), run = std::move(*root.open_folder("run"));
  ASSERT_TRUE(run.write_atomically("meta.json", "ours", false));
  spill(dir / "victim/meta.json", "precious");
  std::filesystem::rename(dir / "run", dir / "away");
  ASSERT_EQ(::symlink("victim", (dir / "run").c_str()), 0);
  EXPECT_FALSE(root.holds("run", run));
  EXPECT_EQ(*run.read("meta.json"), "ours");
  ASSERT_TRUE(run.write_atomically("meta.json", "ours still", false));
  EXPECT_TRUE(run.remove_file("meta.json"));
  EXPECT_EQ(slurp(dir / "victim/meta.json"), "precious");
  EXPECT_FALSE(root.remove_folder("run"));
  EXPECT_FALSE(root.rename_folder("away", "victim"));  // never in the place of another
}

TEST(OwnedFolder, TemporaryNamesCannotBeKnownBeforehand) {
  const std::string a = temporary_name("meta.json"), b = temporary_name("meta.json");
  EXPECT_NE(a, b);
  EXPECT_EQ(without_temporary_ending(a), "meta.json");
  EXPECT_EQ(without_temporary_ending("meta.json.tmp4711"), "meta.json");  // as version 0.1.0 left them
  for (const char* name : {"meta.json", "meta.json.tmp", "meta.json.tmpx", ".tmp1", "thesis.tmp.txt"})
    EXPECT_EQ(without_temporary_ending(name), "") << name;
}

// A file of the name that was used before, also as a link, is in nobody's way.
TEST(OwnedFolder, AtomicWritesFollowNoPlantedLink) {
  const TempDir dir;
  spill(dir / "victim", "precious");
  ASSERT_EQ(::symlink((dir / "victim").c_str(), (dir / ("out.html.tmp" + std::to_string(::getpid()))).c_str()), 0);
  ASSERT_TRUE(write_file_atomically(dir / "out.html", "page"));
  EXPECT_EQ(slurp(dir / "out.html"), "page");
  EXPECT_EQ(slurp(dir / "victim"), "precious");
}

}  // namespace
}  // namespace tacho
