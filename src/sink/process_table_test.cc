#include "sink/process_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "base/units.h"
#include "codec/csv_text.h"
#include "sink/process_file.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

ProcessRecord process(pid_t pid, std::string_view name, int64_t cpu_ms, int64_t ended_ms = 2000) {
  ProcessRecord record;
  record.pid = pid;
  record.ppid = 1;
  record.set_name(name);
  record.started_ms = 1000 + pid;
  record.ended_ms = ended_ms == 0 ? 0 : ended_ms + pid;
  record.cpu_ns = cpu_ms * kNsPerMs;
  record.peak_bytes = pid * kMiB;
  record.read_bytes = 10;
  return record;
}

int64_t cpu_ms(ProcessTable& table) {
  int64_t sum = table.other() ? table.other()->cpu_ns : 0;
  for (const ProcessRecord& record : table.records()) sum += record.cpu_ns;
  return sum / kNsPerMs;
}

TEST(ProcessTable, KeepsTheLargestApartAndMergesTheRestByName) {
  ProcessTable table(4);
  table.add(process(1, "sh", 1));
  table.add(process(2, "big", 1000));
  for (pid_t pid = 3; pid < 9; ++pid) table.add(process(pid, "small", pid));
  table.merge(4);
  ASSERT_LE(table.records().size(), 4u);
  EXPECT_EQ(cpu_ms(table), 1 + 1000 + 3 + 4 + 5 + 6 + 7 + 8);
  EXPECT_FALSE(table.other());
  uint32_t merged = 0, alone = 0;
  for (const ProcessRecord& record : table.records()) {
    if (record.count == 1) {
      ++alone;
      EXPECT_GT(record.pid, 0);
      continue;
    }
    merged += record.count;
    EXPECT_EQ(record.name_view(), "small");
    EXPECT_EQ(record.pid, 0);
    EXPECT_EQ(record.exit, -1);
    EXPECT_EQ(record.started_ms, 1003);                                             // the earliest
    EXPECT_EQ(record.read_bytes, 10 * static_cast<int64_t>(record.count));          // the sum
    EXPECT_EQ(record.peak_bytes, (2 + static_cast<int64_t>(record.count)) * kMiB);  // the largest
  }
  EXPECT_EQ(alone + merged, 8u);
  EXPECT_GT(merged, 1u);
}

TEST(ProcessTable, NamesThatDoNotFitAreOneLine) {
  ProcessTable table(3);
  for (pid_t pid = 1; pid <= 2000; ++pid) table.add(process(pid, "n" + std::to_string(pid), pid));
  table.merge(3);
  EXPECT_EQ(table.records().size(), 3u);
  ASSERT_TRUE(table.other());
  EXPECT_EQ(table.other()->count, 1997u);
  EXPECT_EQ(table.other()->pid, 0);
  EXPECT_EQ(cpu_ms(table), 2000 * 2001 / 2);
  EXPECT_EQ(table.records()[0].pid, 2000);  // the largest is never lost on the way
}

TEST(ProcessTable, WhoLivesIsKeptApart) {
  ProcessTable table(2);
  for (pid_t pid = 1; pid < 40; ++pid) table.add(process(pid, "busy", 1000));
  table.add(process(99, "idle", 0, 0));
  table.merge(2);
  EXPECT_EQ(table.records()[0].pid, 99);
}

std::string text_of(const TempDir& dir) {
  std::ifstream file(dir / kProcessFileName);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ProcessFile, CommandsOutliveRewriting) {
  const TempDir dir;
  auto file = ProcessFile::create(dir.path(), 2000);
  ASSERT_TRUE(file);
  std::vector<ProcessRecord> living;
  ProcessRecord alive = process(7, "alive", 5, 0);
  file->put(alive, "\"alive, \"\"x\"\"\"");
  living.push_back(alive);
  const ProcessFile::Living visit_living = [&](const std::function<void(ProcessRecord&)>& visit) {
    for (ProcessRecord& record : living) visit(record);
  };
  for (pid_t pid = 100; pid < 1100; ++pid) {
    ProcessRecord record = process(pid, "p", 1);
    file->put(record, "cmd" + std::to_string(pid));
    ASSERT_TRUE(pid % 3 != 0 || file->flush());
    file->end(record);
  }
  ASSERT_TRUE(file->shorten(visit_living));
  ProcessRecord late = process(5000, "late", 1);
  file->put(late, "late one");
  file->end(late);
  ASSERT_TRUE(file->finish(visit_living, 2000 * kNsPerMs));
  const std::string text = text_of(dir);
  EXPECT_NE(text.find("\n7,1,alive,\"alive, \"\"x\"\"\",1.007,,1,0.0050,7.000,10,,,\n"), std::string::npos)
      << text.substr(0, 400);
  EXPECT_NE(text.find("\n1099,1,p,cmd1099,"), std::string::npos);
  EXPECT_NE(text.find("\n5000,1,late,late one,"), std::string::npos);
  EXPECT_NE(text.find("\n,,(short-lived),,,,,0.9940,,,,,\n"), std::string::npos) << text.substr(text.size() - 200);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1 + 1000 + 1 + 1);
}

TEST(ProcessFile, GrowsNoLongerThanItMust) {
  const TempDir dir;
  auto file = ProcessFile::create(dir.path(), 10);
  ASSERT_TRUE(file);
  int shortened = 0;
  for (pid_t pid = 1; pid <= 20'000; ++pid) {
    ProcessRecord record = process(pid, pid % 2 == 0 ? "even" : "odd", 1);
    file->put(record, "x");
    file->end(record);
    ASSERT_TRUE(file->flush());
    if (!file->is_long()) continue;
    ASSERT_TRUE(file->shorten([](const auto&) {}));
    ++shortened;
    const std::string text = text_of(dir);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12);
  }
  EXPECT_GT(shortened, 10);
  ASSERT_TRUE(file->finish([](const auto&) {}, 0));
}

TEST(ProcessFile, AFileWithoutLinesIsCompleted) {
  const TempDir dir;
  auto file = ProcessFile::create(dir.path(), 10);
  ASSERT_TRUE(file);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat((dir / kProcessFileName).c_str(), &before), 0);
  ProcessRecord first = process(1, "one", 5);
  file->put(first, "one --two");
  file->end(first);
  ASSERT_TRUE(file->finish([](const auto&) {}, 5 * kNsPerMs));
  ASSERT_EQ(::stat((dir / kProcessFileName).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  const std::string completed = text_of(dir);
  EXPECT_EQ(std::count(completed.begin(), completed.end(), '\n'), 2) << completed;
  EXPECT_NE(completed.find("one --two"), std::string::npos) << completed;

  // The same records, once with lines on the disk: the same file.
  const TempDir other_dir;
  auto other = ProcessFile::create(other_dir.path(), 10);
  ASSERT_TRUE(other);
  ProcessRecord again = process(1, "one", 5);
  other->put(again, "one --two");
  ASSERT_TRUE(other->flush());
  other->end(again);
  ASSERT_TRUE(other->finish([](const auto&) {}, 5 * kNsPerMs));
  EXPECT_EQ(text_of(other_dir), completed);
}

TEST(ProcessFile, LeavesAloneWhatItDidNotMake) {
  const TempDir dir;
  std::ofstream(dir / kProcessFileName) << "mine";
  EXPECT_FALSE(ProcessFile::create(dir.path(), 10));
  EXPECT_EQ(text_of(dir), "mine");
}

TEST(CsvText, FieldsOfALine) {
  const std::string_view line = "1,\"a,\"\"b\"\",c\",,x";
  EXPECT_EQ(csv_field(line, 0), "1");
  EXPECT_EQ(csv_value(csv_field(line, 1)), "a,\"b\",c");
  EXPECT_EQ(csv_field(line, 2), "");
  EXPECT_EQ(csv_field(line, 3), "x");
  EXPECT_EQ(csv_field(line, 4), "");
  EXPECT_EQ(csv_line_text("a\tb\n\xff", 100), "a b \xEF\xBF\xBD");
  EXPECT_EQ(csv_line_text("\xC3\xB6\xC3\xB6", 3), "\xC3\xB6");
}

}  // namespace
}  // namespace tacho
