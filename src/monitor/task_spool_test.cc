#include "monitor/task_spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "monitor/command_watch.h"
#include "spool/bq_record.h"
#include "spool/reader.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr const char* kUtc = "20261115T093000Z";
const std::string kRow = R"({"seq":1,"text":")" + std::string(200, 'x') + R"("})";

std::string tables_in(const std::string& folder) {
  std::string tables;
  for (const Segment& segment : SpoolRun(folder).sealed()) {
    const auto text = SpoolRun(folder).read(segment);
    EXPECT_TRUE(text) << "the seal is that of the text";
    if (!text) continue;
    BqRecords records(*text);
    for (BqRecord record; records.next(record);) tables += record.table;
    EXPECT_EQ(records.damaged(), 0);
  }
  return tables;
}

TEST(TaskSpool, PlacesInTheirOrder) {
  const std::string own = "tacho-" + std::to_string(::getuid());
  const TempDir mount;
  const std::string root = mount / "cromwell_root";
  ::setenv("TMPDIR", "/scratch/", 1);
  // A working disk that is not there is not made by us.
  EXPECT_EQ(task_spool_roots("/named/", root),
            (std::vector<std::string>{"/named", "/scratch/" + own, "/dev/shm/" + own}));
  ASSERT_EQ(::mkdir(root.c_str(), 0700), 0);
  EXPECT_EQ(task_spool_roots("/named/", root),
            (std::vector<std::string>{"/named", root + "/." + own, "/scratch/" + own, "/dev/shm/" + own}));
  ::unsetenv("TMPDIR");
  EXPECT_EQ(task_spool_roots("", "").front(), "/tmp/" + own);
  EXPECT_EQ(task_spool_roots("", "/").front(), "/tmp/" + own);
}

// A disk that vanishes takes its folder along: what may not be sent yet is written again elsewhere.
TEST(TaskSpool, AFolderThatVanishesCostsNoRow) {
  const TempDir dir;
  TaskSpool spool({{dir / "disk", dir / "other"}}, kUtc);
  spool.set_meta("{}");
  ASSERT_TRUE(spool.write_meta());
  const std::string first = spool.folder();
  spool.append('R', 1, "{}");
  spool.append('M', 2, "{}");
  ASSERT_TRUE(spool.seal());
  std::filesystem::remove(SpoolRun(first).sealed().at(0).path);  // delivered
  spool.append('M', 3, "{}");
  ASSERT_TRUE(spool.seal());   // not delivered
  spool.append('E', 4, "{}");  // not sealed
  std::filesystem::remove_all(dir / "disk");
  spool.append('M', 5, "{}");
  ASSERT_TRUE(spool.write_meta());
  ASSERT_TRUE(spool.seal());
  EXPECT_NE(spool.folder(), first);
  EXPECT_TRUE(spool.folder().starts_with(std::string(dir / "other")));
  EXPECT_EQ(tables_in(spool.folder()), "MEM") << "and what was delivered does not go again";
  EXPECT_EQ(spool.ring_bytes(), 0);
  EXPECT_EQ(spool.dropped(), 0);
  EXPECT_FALSE(std::filesystem::exists(std::string(dir / "disk")));
}

// The same in the middle of an outage: rows of many reports wait, all on the disk that goes.
TEST(TaskSpool, AFolderThatVanishesInAnOutageCostsNoRow) {
  const TempDir dir;
  TaskSpool spool({{dir / "disk", dir / "other"}}, kUtc);
  spool.set_meta("{}");
  ASSERT_TRUE(spool.write_meta());
  const std::string first = spool.folder();
  std::string tables;
  for (int report = 0; report < 40; ++report) {
    for (int row = 0; row < 10; ++row) {
      spool.append(row == 9 ? 'E' : 'M', report * 10 + row, kRow);
      if (report != 3) tables += row == 9 ? 'E' : 'M';
    }
    ASSERT_TRUE(spool.seal());
    // One of them went through: it does not go again.
    if (report == 20) std::filesystem::remove(first + "/" + segment_name(3, kRecordsEnding));
  }
  std::filesystem::remove_all(dir / "disk");
  ASSERT_TRUE(spool.write_meta());
  ASSERT_TRUE(spool.seal());
  EXPECT_EQ(tables_in(spool.folder()), tables);
  EXPECT_EQ(spool.ring_bytes(), 0);
  EXPECT_EQ(spool.dropped(), 0);
}

TEST(TaskSpool, RowsAreThereBeforeASealAndFilesArePrivate) {
  const TempDir dir;
  TaskSpool spool({{dir / "spool"}}, kUtc);
  spool.set_meta("{}\n");
  ASSERT_TRUE(spool.write_meta());
  spool.append('R', 1, kRow);
  spool.append('M', 2, kRow);
  int64_t rows = 0;
  whole_bq_records(slurp(spool.folder() + "/000000.open"), &rows);
  EXPECT_EQ(rows, 2);
  EXPECT_TRUE(spool.seal());
  EXPECT_FALSE(spool.seal()) << "nothing new";
  EXPECT_EQ(tables_in(spool.folder()), "RM");
  for (const auto& entry : std::filesystem::directory_iterator(spool.folder()))
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(077), std::filesystem::perms::none) << entry.path();
}

TEST(TaskSpool, AFullSpoolIsThinnedOutFromTheOldestAndKeepsEvents) {
  const TempDir dir;
  TaskSpoolOptions options{{dir / "spool"}};
  options.cap_bytes = 40 * 260;
  TaskSpool spool(options, kUtc);
  ASSERT_TRUE(spool.open());
  spool.append('R', 0, kRow);
  spool.append('E', 1, kRow);
  spool.seal();
  for (int64_t i = 0; i < 100; ++i) {
    spool.append('M', 100 + i, kRow);
    if (i % 5 == 4) spool.seal();
  }
  const std::string tables = tables_in(spool.folder());
  EXPECT_TRUE(tables.starts_with("RE")) << tables;
  EXPECT_TRUE(tables.ends_with("MMMMM")) << "the newest are whole: " << tables;
  EXPECT_GT(spool.dropped(), 0);
  EXPECT_EQ(static_cast<int64_t>(tables.size()) - 2 + spool.dropped(), 100) << "every row is there or counted";
  EXPECT_LE(tables.size() * kRow.size(), static_cast<size_t>(options.cap_bytes));
}

TEST(TaskSpool, WhatIsBeingSentIsLeftAlone) {
  const TempDir dir;
  TaskSpoolOptions options{{dir / "spool"}};
  options.cap_bytes = 1;
  TaskSpool spool(options, kUtc);
  ASSERT_TRUE(spool.open());
  for (int64_t i = 0; i < 4; ++i) spool.append('M', i, kRow);
  const Fd sending(::open((spool.folder() + "/000000.open").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(sending.get(), LOCK_SH), 0);
  spool.seal();
  EXPECT_EQ(tables_in(spool.folder()), "MMMM");
  EXPECT_EQ(spool.dropped(), 0);
}

TEST(TaskSpool, WhatWasSentMakesRoom) {
  const TempDir dir;
  TaskSpoolOptions options{{dir / "spool"}};
  options.cap_bytes = 10 * 260;
  TaskSpool spool(options, kUtc);
  ASSERT_TRUE(spool.open());
  for (int64_t i = 0; i < 50; ++i) {
    spool.append('M', i, kRow);
    spool.seal();
    for (const Segment& segment : SpoolRun(spool.folder()).sealed()) ::unlink(segment.path.c_str());
  }
  EXPECT_EQ(spool.dropped(), 0);
}

TEST(TaskSpool, WithoutAPlaceRowsWaitInMemoryAndGoToDiskLater) {
  const TempDir dir;
  spill(dir / "blocked", "a file");
  TaskSpoolOptions options{{dir / "blocked"}};
  options.memory_bytes = 20 * 300;
  TaskSpool spool(options, kUtc);
  spool.set_meta("{}\n");
  EXPECT_FALSE(spool.write_meta());
  spool.append('R', 0, kRow);
  for (int64_t i = 0; i < 100; ++i) spool.append('M', i, kRow);
  EXPECT_FALSE(spool.seal());
  EXPECT_LE(spool.ring_bytes(), options.memory_bytes);
  EXPECT_GT(spool.dropped(), 0);
  ::unlink((dir / "blocked").c_str());
  ASSERT_TRUE(spool.write_meta());
  EXPECT_TRUE(spool.seal());
  const std::string tables = tables_in(spool.folder());
  EXPECT_TRUE(tables.starts_with("RM")) << tables;
  EXPECT_EQ(static_cast<int64_t>(tables.size()) - 1 + spool.dropped(), 100);
  EXPECT_EQ(spool.ring_bytes(), 0);
}

TEST(TaskSpool, AForeignFolderOfTheSameNameIsNotUsed) {
  const TempDir dir;
  const std::string own = dir / ("tacho-" + std::to_string(::getuid()));
  std::filesystem::create_directories(own);
  std::filesystem::permissions(own, std::filesystem::perms::all);
  TaskSpool spool({{own, dir / "other"}}, kUtc);
  ASSERT_TRUE(spool.open());
  EXPECT_TRUE(spool.folder().starts_with(dir / "other")) << "others may write to the first one";
}

TEST(TaskSpool, ThinningLeavesEverySecond) {
  Writer out;
  for (const char table : std::string("RMMEMMM")) write_bq_record(out, table, 1, "{}");
  int64_t rows = 0, dropped = 0;
  const std::string rest = thinned(out.view(), rows, dropped);
  EXPECT_EQ(dropped, 2);
  EXPECT_EQ(rows, 5);
  int64_t whole = 0;
  EXPECT_EQ(whole_bq_records(rest, &whole), rest.size());
  EXPECT_EQ(whole, 5);
}

class CommandWatchTest : public testing::Test {
 protected:
  // Waits for either descriptor; false when nothing came.
  static bool wait(CommandWatch& watch) {
    for (int i = 0; i < 500; ++i) {
      if (watch.ended()) return true;
      ::usleep(10'000);
    }
    return false;
  }
  TempDir dir_;
};

TEST_F(CommandWatchTest, ARenamedRcIsTheEnd) {
  spill(dir_ / "rc", "0");  // of an earlier command
  CommandWatch watch({dir_.path()});
  ::usleep(100'000);
  EXPECT_FALSE(watch.ended());
  spill(dir_ / "rc.tmp", "0");
  std::filesystem::rename(dir_ / "rc.tmp", dir_ / "rc");
  EXPECT_TRUE(wait(watch));
}

TEST_F(CommandWatchTest, AFolderThatComesLateIsLookedAt) {
  CommandWatch watch({dir_ / "late"});
  ::usleep(50'000);
  std::filesystem::create_directories(dir_ / "late");
  spill(dir_ / "late/rc", "0");
  EXPECT_TRUE(wait(watch));
}

}  // namespace
}  // namespace tacho
