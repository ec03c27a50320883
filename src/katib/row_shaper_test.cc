#include "katib/row_shaper.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "katib/arrival_marks.h"
#include "katib/collect_command.h"
#include "katib/collect_state.h"
#include "katib/folder_watch.h"
#include "katib/journal.h"
#include "katib/worker.h"
#include "os/file.h"

namespace tacho {
namespace {

MetricRow row(std::string time, std::string value, std::optional<int64_t> step = {}) { return {std::move(time), "m", std::move(value), step, {}}; }
const std::string kZero(kZeroTime);

TEST(Shape, DropInLeavesRowsAlone) {
  LastTimes last;
  const auto rows = shape_rows({row("2026-11-15T09:30:00.10+01:00", "1"), row("2026-11-15T09:30:00.10+01:00", "2"), row(kZero, "3")}, {}, {}, last);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].time_stamp, "2026-11-15T09:30:00.10+01:00");
  EXPECT_EQ(rows[2].time_stamp, kZero);
}

TEST(Shape, ArrivalTimesIncreaseStrictly) {
  LastTimes last;
  const ShapeRules rules{true, true, false};
  const std::vector<ArrivalRun> arrivals{{2, 1'700'000'000'000'000}, {2, 1'700'000'000'000'001}};
  const auto rows = shape_rows({row(kZero, "1"), row(kZero, "2"), row(kZero, "3"), row("2026-01-01T00:00:00Z", "4")}, arrivals, rules, last);
  EXPECT_EQ(rows[0].time_stamp, "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(rows[1].time_stamp, "2023-11-14T22:13:20.000001Z");
  EXPECT_EQ(rows[2].time_stamp, "2023-11-14T22:13:20.000002Z");
  EXPECT_EQ(rows[3].time_stamp, "2026-01-01T00:00:00Z");
}

TEST(Shape, SameInputSameRows) {
  const ShapeRules rules{true, true, true};
  LastTimes a, b;
  const std::vector<MetricRow> raw{row(kZero, "1", 3), row(kZero, "2"), row("2026-01-01T00:00:00Z", "3", 1), row("2026-01-01T00:00:00Z", "4", 0)};
  const auto first = shape_rows(raw, {{4, 1'700'000'000'000'000}}, rules, a);
  const auto again = shape_rows(raw, {{4, 1'700'000'000'000'000}}, rules, b);
  ASSERT_EQ(first.size(), again.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].time_stamp, again[i].time_stamp);
    EXPECT_EQ(first[i].value, again[i].value);
  }
}

TEST(Shape, EqualTimesAreSetApartByStep) {
  LastTimes last;
  const ShapeRules rules{false, true, false};
  const std::string time = "2026-01-01T00:00:00Z";
  auto rows = shape_rows({row(time, "late", 2), row(time, "early", 1)}, {}, rules, last);
  EXPECT_EQ(rows[0].value, "early");
  EXPECT_EQ(rows[0].time_stamp, time);
  EXPECT_EQ(rows[1].value, "late");
  EXPECT_EQ(rows[1].time_stamp, "2026-01-01T00:00:00.000001Z");
  // The next chunk goes on behind it; a time that goes back stays.
  rows = shape_rows({row(time, "next"), row("2025-01-01T00:00:00Z", "back")}, {}, rules, last);
  EXPECT_EQ(rows[0].time_stamp, "2026-01-01T00:00:00.000002Z");
  EXPECT_EQ(rows[1].time_stamp, "2025-01-01T00:00:00Z");
}

TEST(Shape, CompanionsHaveTheTimeOfTheirRow) {
  LastTimes last;
  MetricRow with_both = row("2026-01-01T00:00:00Z", "0.5", 7);
  with_both.epoch = 2;
  const auto rows = shape_rows({with_both}, {}, {false, false, true}, last);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].name, "m@step");
  EXPECT_EQ(rows[1].value, "7");
  EXPECT_EQ(rows[2].name, "m@epoch");
  EXPECT_EQ(rows[2].time_stamp, rows[0].time_stamp);
}

TEST(Valid, MadeOrRefused) {
  MetricRow good{kZero, std::string("n\xff", 2), std::string("a\0b", 3), {}, {}};
  EXPECT_TRUE(make_valid(good));
  EXPECT_EQ(good.name, "n\xEF\xBF\xBD");
  EXPECT_EQ(good.value, "a\xEF\xBF\xBD" "b");
  std::string umlauts;
  for (int i = 0; i < 255; ++i) umlauts += "\u00e4";
  MetricRow longest{kZero, umlauts, std::string(65'535, 'x'), {}, {}};
  EXPECT_TRUE(make_valid(longest));
  MetricRow name{kZero, umlauts + "a", "1", {}, {}}, value{kZero, "m", std::string(65'536, 'x'), {}, {}}, time{"yesterday", "m", "1", {}, {}},
      none{kZero, "", "1", {}, {}};
  EXPECT_FALSE(make_valid(name));
  EXPECT_FALSE(make_valid(value));
  EXPECT_FALSE(make_valid(time));
  EXPECT_FALSE(make_valid(none));
}

TEST(Marks, RunsOfRows) {
  ArrivalMarks marks;
  marks.add(10, 100);
  marks.add(10, 150);  // nothing new
  marks.add(15, 200);
  const auto runs = marks.runs(8, 10, 999);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].rows, 2);
  EXPECT_EQ(runs[0].time_us, 100);
  EXPECT_EQ(runs[1].rows, 5);
  EXPECT_EQ(runs[1].time_us, 200);
  EXPECT_EQ(runs[2].rows, 3);
  EXPECT_EQ(runs[2].time_us, 999);
  for (int i = 0; i < 100'000; ++i) marks.add(20 + i, 300 + i);
  EXPECT_LT(marks.runs(0, 100'000, 0).size(), 3000u);
}

TEST(JournalLine, RoundTrip) {
  MetricRow in{"t", "a\tb\\n", "line\nbreak\\", 5, {}}, out;
  const std::string line = journal_line(in);
  ASSERT_TRUE(parse_journal_line(std::string_view(line).substr(0, line.size() - 1), out));
  EXPECT_EQ(out.name, in.name);
  EXPECT_EQ(out.value, in.value);
  EXPECT_EQ(out.step, 5);
  EXPECT_FALSE(out.epoch);
  for (const char* bad : {"", "a\tb", "a\tb\tc\td\te\tf", "\t\t\t\t"}) EXPECT_FALSE(parse_journal_line(bad, out)) << bad;
}

TEST(JournalFile, OutlivesItsWriter) {
  const std::string path = ::testing::TempDir() + "journal";
  std::filesystem::remove(path);
  std::string position;
  {
    Journal journal(path);
    journal.append(row(kZero, "1"));
    EXPECT_TRUE(journal.read(false, 10, [](MetricRow&&) {}));
    position = journal.position();
    journal.append(row(kZero, "2"));
  }
  {
    const Fd torn(::open(path.c_str(), O_WRONLY | O_APPEND));  // half a line of a killed writer
    ASSERT_TRUE(write_all(torn.get(), "half\ta"));
  }
  Journal journal(path);
  ASSERT_TRUE(journal.seek(position));
  journal.append(row(kZero, "3"));
  std::string seen;
  EXPECT_TRUE(journal.read(false, 10, [&](MetricRow&& r) { seen += r.value; }));
  EXPECT_EQ(seen, "23");
  EXPECT_TRUE(journal.holds("m", "2"));
  EXPECT_FALSE(journal.holds("m", "9"));
  std::filesystem::remove(path);
}

// Torn anywhere: none of it is a row, also not one of another value.
TEST(JournalFile, TornLinesAreNoRows) {
  const std::string line = journal_line({"2026-11-15T09:30:00Z", "m", "0.125", 12, 345});
  MetricRow out;
  ASSERT_TRUE(parse_journal_line(std::string_view(line).substr(0, line.size() - 1), out));
  for (size_t size = 0; size + 1 < line.size(); ++size) EXPECT_FALSE(parse_journal_line(std::string_view(line).substr(0, size), out)) << size;
}

// Hours without a database: what waits has a limit, in the file and in memory, and what is beyond it is counted.
TEST(JournalFile, GrowsToItsLimitOnly) {
  const std::string path = ::testing::TempDir() + "journal_limit";
  for (const std::string& at : {path, std::string()}) {
    std::filesystem::remove(path);
    Journal journal(at);
    journal.limit(10'000, 10'000);
    for (int i = 0; i < 1'000; ++i) journal.append(row(kZero, std::to_string(i)));
    uint64_t seen = 0;
    EXPECT_TRUE(journal.read(false, 5'000, [&](MetricRow&&) { ++seen; }));
    EXPECT_GT(seen, 100u);
    EXPECT_EQ(seen + journal.lost(), 1'000u);
  }
  std::filesystem::remove(path);
}

// What is no plain file is not written to.
TEST(JournalFile, RowsOutliveAFullDisk) {
  Journal journal("/dev/full", "trial");
  journal.append(row(kZero, "1"));
  journal.append(row(kZero, "2"));
  std::string seen;
  EXPECT_TRUE(journal.read(false, 10, [&](MetricRow&& r) { seen += r.value; }));
  EXPECT_EQ(seen, "12");
}

TEST(JournalFile, RowsOfAnotherTrialAreNotTaken) {
  const std::string path = ::testing::TempDir() + "journal_owner";
  std::filesystem::remove(path);
  const auto values = [&](const char* owner) {
    Journal journal(path, owner);
    std::string seen;
    EXPECT_TRUE(journal.read(false, 10, [&](MetricRow&& r) { seen += r.value; }));
    journal.append(row(kZero, "1"));
    return seen;
  };
  EXPECT_EQ(values("trial"), "");
  EXPECT_EQ(values("trial"), "1");
  EXPECT_EQ(values("trial-2"), "");
  EXPECT_EQ(values("trial"), "") << "a name that begins like the owner's is another";
  std::filesystem::remove(path);
}

TEST(State, RoundTripAndDamage) {
  CollectState state;
  state.trial = "t";
  state.kind = "File";
  state.watch_position = R"({"offset":5})";
  state.streams["source"] = {R"({"offset":3})", 2};
  state.acknowledged["m"] = 2;
  state.times["m"] = {1, 2};
  state.pending = PendingChunk{"source", R"({"offset":9})", 4, true, {{3, 7}, {1, 8}}, 1, 2, {0}, "id"};
  const auto again = parse_collect_state(format_state(state));
  ASSERT_TRUE(again);
  EXPECT_EQ(format_state(*again), format_state(state));
  EXPECT_EQ(again->pending->arrivals[1].time_us, 8);
  for (const char* bad : {"", "{}", "[]", "{\"version\":2}", "{\"version\":1}", "{\"version\":1,\"trial\":5}"}) EXPECT_FALSE(parse_collect_state(bad)) << bad;
}

TEST(State, OfAnotherTrialIsNotUsed) {
  const std::string path = ::testing::TempDir() + "state";
  StateFile file(path);
  CollectState state;
  state.trial = "t";
  state.kind = "File";
  file.save(state);
  EXPECT_TRUE(file.load("t", "File"));
  EXPECT_FALSE(file.load("other", "File"));
  EXPECT_FALSE(file.load("t", "StdOut"));
  EXPECT_FALSE(StateFile(path + "-none").load("t", "File"));
  EXPECT_FALSE(file_exists(path + ".new"));
  std::filesystem::remove(path);
}

TEST(Watch, OwnFilesDoNotCount) {
  const std::string folder = ::testing::TempDir() + "watched";
  std::filesystem::create_directories(folder);
  FolderWatch watch;
  watch.follow({folder, folder + "/later"});
  EXPECT_TRUE(watch.missing());
  EXPECT_FALSE(watch.changed());
  ASSERT_TRUE(write_file_atomically(folder + "/.tacho-state", "x"));
  EXPECT_FALSE(watch.changed());
  ASSERT_TRUE(write_file_atomically(folder + "/metrics.log", "x"));
  EXPECT_TRUE(watch.changed());
  std::filesystem::create_directories(folder + "/later");
  watch.follow({folder, folder + "/later"});
  EXPECT_FALSE(watch.missing());
  std::filesystem::remove_all(folder);
}

TEST(Cause, GoesWhereKubernetesLooks) {
  const std::string path = ::testing::TempDir() + "termination-log";
  tell_cause("nowhere", path);
  EXPECT_FALSE(file_exists(path));  // only where it was made for us
  ASSERT_TRUE(write_file_atomically(path, "old text that is longer than the new one, by far"));
  tell_cause("training failed", path);
  EXPECT_EQ(*read_whole_file(path), "tacho: training failed\n");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tacho
