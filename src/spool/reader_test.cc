#include "spool/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "support/spool_case.h"

namespace tacho {
namespace {

using SpoolReader = SpoolCase;

TEST_F(SpoolReader, SealedSegmentsAreCompleteCsv) {
  SpoolWriter writer = create();
  ASSERT_TRUE(writer.append("1,2,3\n"));
  ASSERT_TRUE(writer.append("2,3,4\n"));
  ASSERT_TRUE(writer.seal());
  ASSERT_TRUE(writer.seal());  // nothing new: no second segment
  ASSERT_TRUE(writer.append("3,4,5\n"));
  const SpoolRun run(writer.folder());
  auto sealed = run.sealed();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(text_of(run, sealed[0]), "timestamp,a,b\n1,2,3\n2,3,4\n");
  EXPECT_EQ(sealed[0].seal.rows, 2);
  ASSERT_TRUE(writer.seal());
  sealed = run.sealed();
  ASSERT_EQ(sealed.size(), 2u);
  EXPECT_EQ(text_of(run, sealed[1]), "timestamp,a,b\n3,4,5\n");
}

TEST_F(SpoolReader, NobodyElseMayLook) {
  SpoolWriter writer = create();
  ASSERT_TRUE(writer.append("1,2,3\n"));
  ASSERT_TRUE(writer.write_meta("{}", false));
  ASSERT_TRUE(writer.seal());
  struct stat info {};
  ASSERT_EQ(::stat(writer.folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
  for (const char* name : {"lock", "meta.json", "seals", "000000.csv"}) {
    ASSERT_EQ(::stat((writer.folder() + "/" + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777u, 0600u) << name;
  }
}

TEST_F(SpoolReader, LockTellsOfALivingOwner) {
  std::string folder;
  {
    SpoolWriter writer = create();
    folder = writer.folder();
    SpoolRun run(folder);
    const Status status = run.lock();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::not_available);
    EXPECT_EQ(run.owner_pid(), ::getpid());
  }
  SpoolRun first(folder), second(folder);
  EXPECT_TRUE(first.lock());
  EXPECT_FALSE(second.lock());
  first.remove();
  const Status status = SpoolRun(folder).lock();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::gone);
}

TEST_F(SpoolReader, LargeSegmentsAreReadInPieces) {
  SpoolWriter writer = create();
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(writer.append(std::to_string(i) + ",2,3\n"));
  ASSERT_TRUE(writer.seal());
  const SpoolRun run(writer.folder());
  const Segment segment = run.sealed()[0];
  std::string text;
  int pieces = 0;
  ASSERT_TRUE(run.read_pieces(segment, [&](std::string_view piece) { text += piece, ++pieces; }));
  EXPECT_EQ(text, text_of(run, segment));
  EXPECT_GT(pieces, 1);
  append_to(segment.path, "x");
  EXPECT_EQ(run.read_pieces(segment, [](std::string_view) {}).error().code, Code::invalid);
  ASSERT_EQ(::unlink(segment.path.c_str()), 0);
  EXPECT_EQ(run.read_pieces(segment, [](std::string_view) {}).error().code, Code::not_available);
}

TEST_F(SpoolReader, StateIsReplacedAsAWhole) {
  SpoolWriter writer = create();
  const SpoolRun run(writer.folder());
  EXPECT_FALSE(run.state());
  ASSERT_TRUE(run.write_state("{\"a\":1}"));
  ASSERT_TRUE(run.write_state("{\"a\":2}"));
  EXPECT_EQ(*run.state(), "{\"a\":2}");
}

}  // namespace
}  // namespace tacho
