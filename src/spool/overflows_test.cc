#include "spool/overflows.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/file.h"
#include "spool/reader.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

namespace fs = std::filesystem;

// A run whose second row went to another disk.
class Overflows : public testing::Test {
 protected:
  Overflows() : writer_(std::move(*SpoolWriter::create({dir_ / "first", dir_ / "second"}, "20261115T140000Z"))) {
    writer_.set_header("timestamp,a\n");
    EXPECT_TRUE(writer_.append("1,2\n") && writer_.seal());
    EXPECT_EQ(::symlink("/dev/full", (writer_.folder() + "/000001.open").c_str()), 0);
    EXPECT_TRUE(writer_.append("3,4\n") && writer_.moved() && writer_.seal());
    ::unlink((writer_.folder() + "/000001.open").c_str());
    name_ = last_part(writer_.folder());
  }
  // Under the same name, elsewhere.
  std::string copy() {
    fs::create_directory(dir_ / "copies");
    const std::string path = dir_ / ("copies/" + name_);
    fs::copy(writer_.folder(), path, fs::copy_options::recursive);
    ::chmod((dir_ / "copies").c_str(), 0700);
    ::chmod(path.c_str(), 0700);
    return path;
  }
  void forget_place() {
    std::string list = slurp(writer_.folder() + "/overflow");
    list.erase(list.find("of /"));
    spill(writer_.folder() + "/overflow", list);
  }

  TempDir dir_;
  SpoolWriter writer_;
  std::string name_;
};

TEST_F(Overflows, BelongToTheRunAndNotToItsCopy) {
  SpoolRun copied(copy());
  ASSERT_TRUE(copied.lock());
  EXPECT_EQ(copied.sealed().size(), 1u);
  std::vector<Torn> torn;
  EXPECT_TRUE(copied.recover(kSealedEnding, torn));
  EXPECT_TRUE(copied.write_state("{}"));
  EXPECT_EQ(copied.roots().size(), 1u);  // nothing is made on the other disk either
  EXPECT_EQ(copied.remove(), "");
  SpoolRun run(writer_.folder());
  EXPECT_EQ(run.sealed().size(), 2u);
  EXPECT_FALSE(run.state());
  EXPECT_EQ(run.remove(), "");
  EXPECT_FALSE(file_exists(dir_ / ("second/" + name_ + ".overflow")));
}

// Its rows must not be removed with the run, whose end was reached without them.
TEST_F(Overflows, OnADiskThatComesBackAreUnread) {
  fs::rename(dir_ / "second", dir_ / "away");
  const SpoolRun run(writer_.folder());
  EXPECT_EQ(run.sealed().size(), 1u);
  EXPECT_FALSE(run.has_unread());
  fs::rename(dir_ / "away", dir_ / "second");
  EXPECT_TRUE(run.has_unread());
  EXPECT_EQ(run.sealed().size(), 2u);
  EXPECT_FALSE(run.has_unread());
}

TEST_F(Overflows, FollowARunThatWasMoved) {
  fs::create_directory(dir_ / "moved");
  ::chmod((dir_ / "moved").c_str(), 0700);
  fs::rename(writer_.folder(), dir_ / ("moved/" + name_));
  EXPECT_EQ(SpoolRun(dir_ / ("moved/" + name_)).sealed().size(), 2u);
}

TEST_F(Overflows, OfAnOlderTachoAreThoseOfTheRunInTheSpool) {
  forget_place();
  EXPECT_EQ(SpoolRun(writer_.folder()).sealed().size(), 2u);
  const std::string copied = copy();
  ::setenv("TACHO_SPOOL_DIR", (dir_ / "first").c_str(), 1);
  EXPECT_EQ(SpoolRun(copied).sealed().size(), 1u);
  EXPECT_EQ(SpoolRun(writer_.folder()).sealed().size(), 2u);
  ::unsetenv("TACHO_SPOOL_DIR");
}

}  // namespace
}  // namespace tacho
