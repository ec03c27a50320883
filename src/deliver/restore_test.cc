#include "deliver/restore.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class Restore : public testing::Test {
 protected:
  Restore() : writer_(std::move(*SpoolWriter::create({dir_ / "spool"}, "20261115T140000Z"))) {
    writer_.set_header("timestamp,a\n");
    for (const char* row : {"1,10\n", "2,20\n", "3,30\n"}) {
      EXPECT_TRUE(writer_.append(row));
      if (row[0] == '2') continue;
      EXPECT_TRUE(writer_.seal());  // the first row, then two
    }
    spill(dir_ / "metrics.csv", "timestamp,a\n1,10\n2,20\n3,30\n4,40\n");
  }
  std::string second() { return slurp(writer_.folder() + "/000001.csv"); }
  bool restore() {
    const SpoolRun run(writer_.folder());
    return restore_segment(run, run.sealed().at(1), dir_.path());
  }

  TempDir dir_;
  SpoolWriter writer_;
};

TEST_F(Restore, BringsBackTheVeryBytes) {
  for (const char* damage : {"timestamp,a\n2,20\n3,31\n", "timestamp,a\n2,2", ""}) {
    spill(writer_.folder() + "/000001.csv", damage);
    ASSERT_TRUE(restore()) << damage;
    EXPECT_EQ(second(), "timestamp,a\n2,20\n3,30\n");
    const SpoolRun run(writer_.folder());
    EXPECT_TRUE(run.read(run.sealed().at(1)));
  }
}

TEST_F(Restore, BringsBackWhatWasRemoved) {
  for (const char* name : {"/000000.csv", "/000001.csv"}) ASSERT_EQ(::unlink((writer_.folder() + name).c_str()), 0);
  const SpoolRun run(writer_.folder());
  ASSERT_EQ(run.missing().size(), 2u);
  EXPECT_TRUE(restore_segment(run, run.missing()[1], dir_.path()));
  EXPECT_EQ(second(), "timestamp,a\n2,20\n3,30\n");
  ASSERT_EQ(run.missing().size(), 1u);
}

// More than is read at once: rows lie across the pieces.
TEST_F(Restore, BringsBackRowsOfALongRun) {
  SpoolWriter writer = std::move(*SpoolWriter::create({dir_ / "spool"}, "20261115T150000Z"));
  std::string store = "timestamp,a\n";
  writer.set_header(store);
  for (int i = 0; i < 9000; ++i) {
    const std::string row = std::to_string(i) + "," + std::to_string(i * 7919) + "\n";
    store += row;
    ASSERT_TRUE(writer.append(row));
    ASSERT_TRUE(i % 3000 != 2999 || writer.seal());
  }
  spill(dir_ / "metrics.csv", store);
  const SpoolRun run(writer.folder());
  for (const Segment& segment : run.sealed()) {
    const std::string whole = slurp(segment.path);
    spill(segment.path, "damaged");
    ASSERT_TRUE(restore_segment(run, segment, dir_.path()));
    EXPECT_EQ(slurp(segment.path), whole);
  }
}

TEST_F(Restore, ChangesNothingWhereTheStoreHasOtherRows) {
  const std::string damage = "timestamp,a\n2,20\n3,3";
  spill(writer_.folder() + "/000001.csv", damage);
  for (const char* store :
       {"", "timestamp,a\n1,10\n2,20\n", "timestamp,a\n1,10\n2,20\n3,31\n", "timestamp,b\n1,10\n2,20\n3,30\n"}) {
    spill(dir_ / "metrics.csv", store);
    EXPECT_FALSE(restore()) << store;
    EXPECT_EQ(second(), damage);
  }
  const SpoolRun run(writer_.folder());
  EXPECT_FALSE(restore_segment(run, run.sealed().at(1), ""));
  EXPECT_FALSE(restore_segment(run, run.sealed().at(1), dir_ / "absent"));
}

}  // namespace
}  // namespace tacho
