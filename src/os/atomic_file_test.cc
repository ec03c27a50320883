#include "os/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "os/unique.h"
#include "support/small_disk.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

size_t files_in(const std::string& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(AtomicFile, HoldsTheLastTextAndNothingStaysBehind) {
  const TempDir dir;
  AtomicFile file(dir.path(), "run.json", 0600);
  for (const char* text : {"first and longest text", "second", "third text", "4"}) {
    ASSERT_TRUE(file.replace(text));
    EXPECT_EQ(slurp(dir / "run.json"), text);
  }
  struct stat info {};
  ASSERT_EQ(::stat((dir / "run.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  file.finish();
  EXPECT_EQ(files_in(dir.path()), 1u);
  ASSERT_TRUE(file.replace("after the end"));
  EXPECT_EQ(slurp(dir / "run.json"), "after the end");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(AtomicFile, TheFileIsNeverMissingOrEmpty) {
  const TempDir dir;
  AtomicFile file(dir.path(), "run.json", 0600);
  const std::string a(20'000, 'a'), b(5'000, 'b');
  ASSERT_TRUE(file.replace(a));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) EXPECT_TRUE(file.replace(i % 2 == 0 ? b : a));
  });
  int empty = 0;
  for (int i = 0; i < 2000; ++i) empty += slurp(dir / "run.json").empty() ? 1 : 0;
  stop = true;
  writer.join();
  EXPECT_EQ(empty, 0);
}

TEST(AtomicFile, SurvivesThatSomebodyTidiedUp) {
  const TempDir dir;
  AtomicFile file(dir.path(), "run.json", 0600);
  ASSERT_TRUE(file.replace("one"));
  for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
    if (entry.path().filename() != "run.json") std::filesystem::remove(entry.path());
  ASSERT_TRUE(file.replace("two"));
  EXPECT_EQ(slurp(dir / "run.json"), "two");
  std::filesystem::remove(dir / "run.json");
  ASSERT_TRUE(file.replace("three"));
  EXPECT_EQ(slurp(dir / "run.json"), "three");
}

TEST(AtomicFile, AFullDiskKeepsTheOldText) {
  const SmallDisk disk("16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "may not mount";
  AtomicFile file(disk.path(), "run.json", 0600);
  ASSERT_TRUE(file.replace("small"));
  const Status status = file.replace(std::string(100'000, 'x'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::io);
  EXPECT_EQ(slurp(disk.path() + "/run.json"), "small");
  EXPECT_TRUE(file.replace("smaller again"));
  EXPECT_EQ(slurp(disk.path() + "/run.json"), "smaller again");
}

TEST(Unique, MakesAFolderOnce) {
  const TempDir dir;
  EXPECT_TRUE(make_new_directory(dir / "a").value_or(false));
  EXPECT_FALSE(make_new_directory(dir / "a").value_or(true));
  EXPECT_FALSE(make_new_directory(dir / "no/such/place"));
}

TEST(Unique, RandomDigits) {
  EXPECT_EQ(random_hex(4).size(), 4u);
  EXPECT_EQ(random_hex(40).size(), 16u);
  EXPECT_EQ(random_hex(16).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(random_hex(16), random_hex(16));
}

}  // namespace
}  // namespace tacho
