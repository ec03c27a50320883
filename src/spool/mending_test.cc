#include "spool/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "base/writer.h"
#include "os/file.h"
#include "spool/bq_record.h"
#include "support/spool_case.h"

namespace tacho {
namespace {

using SpoolMending = SpoolCase;

TEST_F(SpoolMending, TornTailIsCutOffAndReported) {
  std::string folder;
  {
    SpoolWriter writer = create();
    folder = writer.folder();
    ASSERT_TRUE(writer.append("1,2,3\n"));
    ASSERT_TRUE(writer.append("2,3,4\n"));
  }
  append_to(folder + "/000000.open", "3,4");
  const SpoolRun run(folder);
  EXPECT_TRUE(run.sealed().empty());
  std::vector<Torn> torn;
  ASSERT_TRUE(run.recover(kSealedEnding, torn));
  ASSERT_EQ(torn.size(), 1u);
  EXPECT_EQ(torn[0].bytes, 3);
  const auto sealed = run.sealed();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(text_of(run, sealed[0]), "timestamp,a,b\n1,2,3\n2,3,4\n");
  EXPECT_FALSE(file_exists(folder + "/000000.open"));
  torn.clear();
  ASSERT_TRUE(run.recover(kSealedEnding, torn));  // a second time there is nothing to do
  EXPECT_TRUE(torn.empty());
}

TEST_F(SpoolMending, KilledBetweenSealAndRename) {
  std::string folder;
  {
    SpoolWriter writer = create();
    folder = writer.folder();
    ASSERT_TRUE(writer.append("1,2,3\n"));
    ASSERT_TRUE(writer.seal());
  }
  ASSERT_EQ(::rename((folder + "/000000.csv").c_str(), (folder + "/000000.open").c_str()), 0);
  const SpoolRun run(folder);
  EXPECT_TRUE(run.sealed().empty());
  std::vector<Torn> torn;
  ASSERT_TRUE(run.recover(kSealedEnding, torn));
  ASSERT_EQ(run.sealed().size(), 1u);
  EXPECT_TRUE(torn.empty());
}

TEST_F(SpoolMending, TornLineOfSealsIsIgnoredAndDoesNotSwallowTheNext) {
  std::string folder;
  {
    SpoolWriter writer = create();
    folder = writer.folder();
    ASSERT_TRUE(writer.append("1,2,3\n"));
  }
  append_to(folder + "/seals", "000000 20");
  const SpoolRun run(folder);
  std::vector<Torn> torn;
  ASSERT_TRUE(run.recover(kSealedEnding, torn));
  ASSERT_EQ(run.sealed().size(), 1u);
  EXPECT_EQ(run.sealed()[0].seal.rows, 1);
}

TEST_F(SpoolMending, DamageIsNoticedAndRepairedToWholeRows) {
  SpoolWriter writer = create();
  ASSERT_TRUE(writer.append("1,2,3\n"));
  ASSERT_TRUE(writer.append("2,3,4\n"));
  ASSERT_TRUE(writer.seal());
  const SpoolRun run(writer.folder());
  ASSERT_EQ(::truncate(run.sealed()[0].path.c_str(), 22), 0);
  const auto text = run.read(run.sealed()[0]);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::invalid);
  ASSERT_TRUE(run.repair(run.sealed()[0]));
  EXPECT_EQ(text_of(run, run.sealed()[0]), "timestamp,a,b\n1,2,3\n");
}

// The disk was full, or the power went: a line of seals is torn, or gone. The batch itself is whole and is sent.
TEST_F(SpoolMending, TornSealsLoseNoBatch) {
  for (const char* torn : {"", "000001 1", "000001 20 1 ", "garbage", "000001 20 1 0000000"}) {
    const std::string root = dir_.path() + "/" + std::to_string(std::string(torn).size());
    std::string folder;
    {
      SpoolWriter writer = create({root});
      folder = writer.folder();
      for (const char* row : {"1,2,3\n", "4,5,6\n", "7,8,9\n"}) ASSERT_TRUE(writer.append(row) && writer.seal());
    }
    const std::string seals = slurp(folder + "/seals");
    const size_t first = seals.find('\n') + 1, second = seals.find('\n', first) + 1;
    spill(folder + "/seals", seals.substr(0, first) + torn + seals.substr(second));  // swallows the third, too
    EXPECT_EQ(all_rows(root), "1,2,3\n4,5,6\n7,8,9\n") << torn;
  }
}

// The line is torn and this disk has no room to seal it again: it is sealed on the other one, and is not here, too.
TEST_F(SpoolMending, ABatchThatIsSealedElsewhereIsThereOnce) {
  SpoolWriter writer = create({dir_ / "first", dir_ / "second"});
  ASSERT_TRUE(writer.append("1,2,3\n") && writer.seal());
  const std::string folder = writer.folder();
  ASSERT_EQ(::unlink((folder + "/seals").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/full", (folder + "/seals").c_str()), 0);
  const SpoolRun run(folder);
  std::vector<Torn> torn;
  ASSERT_TRUE(run.recover(kSealedEnding, torn));
  ASSERT_EQ(run.sealed().size(), 1u);
  EXPECT_TRUE(run.sealed()[0].path.starts_with(dir_ / "second"));
  EXPECT_FALSE(file_exists(folder + "/000000.csv"));
}

// What an open segment holds is known by its run: the first letters may be the damaged ones.
TEST_F(SpoolMending, AnOpenSegmentIsOfItsRunsForm) {
  Writer record;
  write_bq_record(record, 'M', 1, "{}");
  const std::string damaged = std::string(100, '\0') + "\n", text = damaged + std::string(record.view());
  for (const std::string_view form : {kRecordsEnding, kSealedEnding}) {
    const SpoolWriter writer = create();
    spill(writer.folder() + "/000000.open", text);
    const SpoolRun run(writer.folder());
    std::vector<Torn> torn;
    ASSERT_TRUE(run.recover(form, torn));
    const std::vector<Segment> sealed = run.sealed();
    ASSERT_EQ(sealed.size(), form == kRecordsEnding ? 1u : 0u);
    EXPECT_TRUE(run.check_segments(form));
    EXPECT_EQ(static_cast<bool>(run.check_segments(kSealedEnding)), sealed.empty());
    for (const Segment& segment : sealed) EXPECT_EQ(segment.seal.rows, 1);
  }
}

}  // namespace
}  // namespace tacho
