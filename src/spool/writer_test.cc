#include "spool/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "os/file.h"
#include "support/spool_case.h"

namespace tacho {
namespace {

using SpoolWriterCase = SpoolCase;

TEST_F(SpoolWriterCase, NextFolderWhenTheFirstCannotBeUsed) {
  const SpoolWriter writer = create({"/proc/nothing/here", dir_.path() + "/second"});
  EXPECT_TRUE(writer.folder().starts_with(dir_.path() + "/second/"));
  EXPECT_FALSE(SpoolWriter::create({"/proc/nothing/here"}, kUtc));
}

TEST_F(SpoolWriterCase, FullDiskMovesOn) {
  const std::string roots[] = {dir_.path() + "/first", dir_.path() + "/second"};
  SpoolWriter writer = create({roots[0], roots[1]});
  ASSERT_TRUE(writer.append("1,2,3\n") && writer.seal());
  ASSERT_EQ(::symlink("/dev/full", (writer.folder() + "/000001.open").c_str()), 0);
  for (const char* row : {"4,5,6\n", "7,8,9\n"}) ASSERT_TRUE(writer.append(row));
  EXPECT_TRUE(writer.moved());
  ASSERT_TRUE(writer.seal());
  EXPECT_TRUE(spool_folders(roots[1]).empty());  // an overflow is no run
  EXPECT_EQ(all_rows(roots[0]), "1,2,3\n4,5,6\n7,8,9\n");
  ASSERT_EQ(::unlink((writer.folder() + "/000001.open").c_str()), 0);  // it would stay, and its folder
  EXPECT_EQ(SpoolRun(writer.folder()).remove(), "");
  int left = 0;
  for (const std::string& root : roots) list_directory(root, [&](std::string_view) { ++left; });
  EXPECT_EQ(left, 0);
}

// Something stands in the way on the first disk for a while; when there is room again, rows go there again.
TEST_F(SpoolWriterCase, ReturnsToTheFirstDisk) {
  const std::string roots[] = {dir_.path() + "/first", dir_.path() + "/second"};
  SpoolWriter writer = create({roots[0], roots[1]});
  ASSERT_TRUE(writer.append("1,2,3\n") && writer.seal());
  const std::string obstacle = writer.folder() + "/000001.open";
  ASSERT_EQ(::mkdir(obstacle.c_str(), 0700), 0);
  ASSERT_TRUE(writer.append("4,5,6\n"));
  ASSERT_TRUE(writer.moved());
  ASSERT_EQ(::rmdir(obstacle.c_str()), 0);
  ASSERT_TRUE(writer.seal());
  EXPECT_FALSE(writer.moved());
  ASSERT_TRUE(writer.append("7,8,9\n") && writer.seal());
  EXPECT_TRUE(file_exists(writer.folder() + "/000002.csv"));
  EXPECT_EQ(all_rows(roots[0]), "1,2,3\n4,5,6\n7,8,9\n");
  // One that fails again and again is tried less and less often.
  int tries = 0;
  for (int i = 3; i < 60; ++i) {
    char name[16];
    std::snprintf(name, sizeof name, "/%06d.open", i);
    const std::string path = writer.folder() + name;
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    tries += !writer.moved();
    ASSERT_TRUE(writer.append("1,1,1\n") && writer.seal());
    ASSERT_EQ(::rmdir(path.c_str()), 0);
  }
  EXPECT_LE(tries, 8);
}

// ulimit -f: no other folder takes longer files, but the next file does.
TEST_F(SpoolWriterCase, FileSizeLimitBeginsTheNextSegment) {
  const std::string root = dir_.path() + "/first";
  const pid_t child = ::fork();
  if (child == 0) {
    SpoolWriter writer = create({root, dir_.path() + "/second"});
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{400, 400};
    ::setrlimit(RLIMIT_FSIZE, &small);
    bool good = true;
    for (int i = 0; i < 500; ++i) good = good && writer.append("4,5,6\n");
    ::_exit(good && !writer.moved() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(all_rows(root).size(), 500u * 6);
}

// By a clean-up of old files, say: with the run, with the whole spool, or only what is in it.
TEST_F(SpoolWriterCase, RemovedFolderIsMadeAnew) {
  const std::string root = dir_.path() + "/first";
  for (const bool sealed_before : {false, true}) {
    for (const std::string& what : {std::string("/*/*.open"), std::string("/*/*"), std::string("/*"), std::string()}) {
      SpoolWriter writer = create({root, dir_.path() + "/second"});
      ASSERT_TRUE(writer.write_meta("{}", false));
      ASSERT_TRUE(!sealed_before || (writer.append("0,0,0\n") && writer.seal()));
      ASSERT_TRUE(writer.append("1,2,3\n"));
      ASSERT_EQ(std::system(("rm -rf " + root + what).c_str()), 0);
      ASSERT_TRUE(writer.append("4,5,6\n") && writer.seal()) << what;
      EXPECT_FALSE(writer.moved());
      const SpoolRun run(writer.folder());
      ASSERT_FALSE(run.sealed().empty()) << what;
      EXPECT_EQ(text_of(run, run.sealed().back()), std::string(kHeader) + "1,2,3\n4,5,6\n") << what;
      EXPECT_EQ(run.meta().value_or(""), "{}") << what;
      EXPECT_EQ(run.roots().size(), 2u) << what;
      SpoolRun other(writer.folder());
      EXPECT_FALSE(other.lock()) << what;  // it is still this writer's
      const bool is_gone = sealed_before && what != "/*/*.open";
      ASSERT_EQ(run.missing().size(), is_gone ? 1u : 0u) << what;  // but known
      EXPECT_TRUE(!is_gone || run.missing()[0].seal.rows == 1);
      writer.discard();
    }
  }
}

TEST_F(SpoolWriterCase, RemovedBetweenTwoSegments) {
  const std::string root = dir_.path() + "/first";
  SpoolWriter writer = create({root, dir_.path() + "/second"});
  ASSERT_TRUE(writer.append("1,2,3\n") && writer.seal());
  ASSERT_EQ(std::system(("rm -rf " + root).c_str()), 0);
  ASSERT_TRUE(writer.append("4,5,6\n") && writer.seal());
  EXPECT_FALSE(writer.moved());
  ASSERT_EQ(SpoolRun(writer.folder()).sealed().size(), 1u);
  ASSERT_EQ(std::system(("rm -rf " + root).c_str()), 0);
  ASSERT_TRUE(writer.write_meta("{\"end\":1}", false));
  EXPECT_EQ(SpoolRun(writer.folder()).meta().value_or(""), "{\"end\":1}");
  EXPECT_EQ(SpoolRun(writer.folder()).missing().size(), 2u);
}

TEST_F(SpoolWriterCase, DiscardLeavesNothing) {
  SpoolWriter writer = create();
  ASSERT_TRUE(writer.append("1,2,3\n"));
  ASSERT_TRUE(writer.write_meta("{}", false));
  writer.discard();
  EXPECT_TRUE(spool_folders(dir_.path() + "/spool").empty());
}

}  // namespace
}  // namespace tacho
