#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/crc32c.h"
#include "os/file.h"
#include "spool/reader.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr std::string_view kHeader = "timestamp,a,b\n";
constexpr const char* kUtc = "20261115T140000Z";

class Spool : public testing::Test {
 protected:
  SpoolWriter create(std::vector<std::string> roots) {
    auto writer = SpoolWriter::create(roots, kUtc);
    EXPECT_TRUE(writer) << (writer ? "" : writer.error().message());
    writer->set_header(kHeader);
    return std::move(*writer);
  }
  SpoolWriter create() { return create({dir_.path() + "/spool"}); }
  static std::string text_of(const SpoolRun& run, const Segment& segment) {
    return run.read(segment).value_or("damaged");
  }
  static void append_to(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::app | std::ios::binary) << text;
  }

  TempDir dir_;
};

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

TEST(Layout, SealLines) {
  const Seal seal{12, 3456, 60, 0x0a1b2c3d};
  EXPECT_EQ(seal_line(seal), "000012 3456 60 0a1b2c3d\n");
  const auto parsed = parse_seal("000012 3456 60 0a1b2c3d");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->number, 12u);
  EXPECT_EQ(parsed->bytes, 3456);
  EXPECT_EQ(parsed->rows, 60);
  EXPECT_EQ(parsed->crc, 0x0a1b2c3du);
  for (const char* torn : {"", "000012", "000012 3456 60", "000012 3456 60 0a1b", "x 1 1 00000000", "1 1 1 zzzzzzzz"})
    EXPECT_FALSE(parse_seal(torn)) << torn;
}

TEST(WholeCsv, CutsAtTheFirstLineThatIsNotWhole) {
  int64_t rows = -1;
  EXPECT_EQ(whole_csv("a,b\n1,2\n3,4\n", &rows), 12u);
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(whole_csv("a,b\n1,2\n3,", &rows), 8u);
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(whole_csv("a,b\n1,2\n3\n5,6\n", &rows), 8u);
  EXPECT_EQ(whole_csv(std::string_view("a,b\n1,2\n\0,\0\n", 12), &rows), 8u);
  EXPECT_EQ(whole_csv("a,b", &rows), 0u);
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(whole_csv("", nullptr), 0u);
}

TEST_F(Spool, SealedSegmentsAreCompleteCsv) {
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

TEST_F(Spool, NobodyElseMayLook) {
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

TEST_F(Spool, LockTellsOfALivingOwner) {
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

TEST_F(Spool, TornTailIsCutOffAndReported) {
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
  ASSERT_TRUE(run.recover(torn));
  ASSERT_EQ(torn.size(), 1u);
  EXPECT_EQ(torn[0].bytes, 3);
  const auto sealed = run.sealed();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(text_of(run, sealed[0]), "timestamp,a,b\n1,2,3\n2,3,4\n");
  EXPECT_FALSE(file_exists(folder + "/000000.open"));
  torn.clear();
  ASSERT_TRUE(run.recover(torn));  // a second time there is nothing to do
  EXPECT_TRUE(torn.empty());
}

TEST_F(Spool, KilledBetweenSealAndRename) {
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
  ASSERT_TRUE(run.recover(torn));
  ASSERT_EQ(run.sealed().size(), 1u);
  EXPECT_TRUE(torn.empty());
}

TEST_F(Spool, TornLineOfSealsIsIgnoredAndDoesNotSwallowTheNext) {
  std::string folder;
  {
    SpoolWriter writer = create();
    folder = writer.folder();
    ASSERT_TRUE(writer.append("1,2,3\n"));
  }
  append_to(folder + "/seals", "000000 20");
  const SpoolRun run(folder);
  std::vector<Torn> torn;
  ASSERT_TRUE(run.recover(torn));
  ASSERT_EQ(run.sealed().size(), 1u);
  EXPECT_EQ(run.sealed()[0].seal.rows, 1);
}

TEST_F(Spool, DamageIsNoticedAndRepairedToWholeRows) {
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

TEST_F(Spool, LargeSegmentsAreReadInPieces) {
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

TEST_F(Spool, NextFolderWhenTheFirstCannotBeUsed) {
  const SpoolWriter writer = create({"/proc/nothing/here", dir_.path() + "/second"});
  EXPECT_TRUE(writer.folder().starts_with(dir_.path() + "/second/"));
  EXPECT_FALSE(SpoolWriter::create({"/proc/nothing/here"}, kUtc));
}

// Of the run in `root`: every row in order, each segment whole.
std::string all_rows(const std::string& root) {
  const auto folders = spool_folders(root);
  if (folders.size() != 1) return std::to_string(folders.size()) + " runs";
  const SpoolRun run(folders[0]);
  std::vector<Torn> torn;
  if (!run.recover(torn) || !torn.empty()) return "torn";
  std::string rows;
  uint32_t next = 0;
  for (const Segment& segment : run.sealed()) {
    if (segment.seal.number != next++) return "numbers";
    rows += run.read(segment).value_or(std::string(kHeader) + "damaged").substr(kHeader.size());
  }
  return rows;
}

TEST_F(Spool, FullDiskMovesOn) {
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
TEST_F(Spool, ReturnsToTheFirstDisk) {
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

// The disk was full, or the power went: a line of seals is torn, or gone. The batch itself is whole and is sent.
TEST_F(Spool, TornSealsLoseNoBatch) {
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

TEST(Layout, ASealBehindATornOneIsNoOtherSeal) {
  EXPECT_TRUE(parse_seal("1234567 20 1 0a1b2c3d"));
  for (const char* line : {"00001000011 20 1 0a1b2c3d", "0000000004 20 1 0a1b2c3d", "04 20 1 0a1b2c3d"})
    EXPECT_FALSE(parse_seal(line)) << line;
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

// Only what the spool made is removed; with anything else the folder stays, under its own name.
TEST_F(Spool, RemovesNothingButItsOwn) {
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
TEST_F(Spool, DeliveredFoldersAreSwept) {
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

// A folder that everybody may write to is shared: each user has a folder of his own in it.
TEST_F(Spool, SharedFolderGetsOneOfOurOwn) {
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

// An overflow is followed only where it is ours.
TEST_F(Spool, OverflowOfSomebodyElseIsNotFollowed) {
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

// ulimit -f: no other folder takes longer files, but the next file does.
TEST_F(Spool, FileSizeLimitBeginsTheNextSegment) {
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
TEST_F(Spool, RemovedFolderIsMadeAnew) {
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

TEST_F(Spool, RemovedBetweenTwoSegments) {
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

TEST_F(Spool, StateIsReplacedAsAWhole) {
  SpoolWriter writer = create();
  const SpoolRun run(writer.folder());
  EXPECT_FALSE(run.state());
  ASSERT_TRUE(run.write_state("{\"a\":1}"));
  ASSERT_TRUE(run.write_state("{\"a\":2}"));
  EXPECT_EQ(*run.state(), "{\"a\":2}");
}

TEST_F(Spool, DiscardLeavesNothing) {
  SpoolWriter writer = create();
  ASSERT_TRUE(writer.append("1,2,3\n"));
  ASSERT_TRUE(writer.write_meta("{}", false));
  writer.discard();
  EXPECT_TRUE(spool_folders(dir_.path() + "/spool").empty());
}

TEST_F(Spool, RootsInOrder) {
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

}  // namespace
}  // namespace tacho
