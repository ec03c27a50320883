#include "katib/collect/collect_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "katib/collect/collect_command.h"
#include "katib/collect/journal.h"
#include "katib/read/arrival_marks.h"
#include "os/file.h"

namespace tacho {
namespace {

MetricRow kept_row(std::string time, std::string value) { return {std::move(time), "m", std::move(value), {}, {}}; }
const std::string kZero(kZeroTime);

TEST(JournalLine, RoundTrip) {
  MetricRow in{"t", "a\tb\\n", "line\nbreak\\", 5, {}}, out;
  const std::string line = journal_line(in);
  ASSERT_TRUE(parse_journal_line(std::string_view(line).substr(0, line.size() - 1), out));
  EXPECT_EQ(out.name, in.name);
  EXPECT_EQ(out.value, in.value);
  EXPECT_EQ(out.step, 5);
  EXPECT_FALSE(out.epoch);
  for (const char* bad : {"", "a\tb", "a\tb\tc\td\te\tf", "\t\t\t\t"})
    EXPECT_FALSE(parse_journal_line(bad, out)) << bad;
}

TEST(JournalFile, OutlivesItsWriter) {
  const std::string path = ::testing::TempDir() + "journal";
  std::filesystem::remove(path);
  std::string position;
  {
    Journal journal(path);
    journal.append(kept_row(kZero, "1"));
    EXPECT_TRUE(journal.read(false, 10, [](MetricRow&&) {}));
    position = journal.position();
    journal.append(kept_row(kZero, "2"));
  }
  {
    const Fd torn(::open(path.c_str(), O_WRONLY | O_APPEND));  // half a line of a killed writer
    ASSERT_TRUE(write_all(torn.get(), "half\ta"));
  }
  Journal journal(path);
  ASSERT_TRUE(journal.seek(position));
  journal.append(kept_row(kZero, "3"));
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
  for (size_t size = 0; size + 1 < line.size(); ++size)
    EXPECT_FALSE(parse_journal_line(std::string_view(line).substr(0, size), out)) << size;
}

// Hours without a database: what waits has a limit, in the file and in memory, and what is beyond it is counted.
TEST(JournalFile, GrowsToItsLimitOnly) {
  const std::string path = ::testing::TempDir() + "journal_limit";
  for (const std::string& at : {path, std::string()}) {
    std::filesystem::remove(path);
    Journal journal(at);
    journal.limit(10'000, 10'000);
    for (int i = 0; i < 1'000; ++i) journal.append(kept_row(kZero, std::to_string(i)));
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
  journal.append(kept_row(kZero, "1"));
  journal.append(kept_row(kZero, "2"));
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
    journal.append(kept_row(kZero, "1"));
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
  state.streams["source"] = {R"({"offset":3})"};
  state.acknowledged["m"] = 2;
  state.times["m"] = {1, 2};
  state.pending = PendingChunk{"source", R"({"offset":9})", 4, true, {{3, 7}, {1, 8}}, 1, 2, {0}, "id"};
  const auto again = parse_collect_state(format_state(state));
  ASSERT_TRUE(again);
  EXPECT_EQ(format_state(*again), format_state(state));
  EXPECT_EQ(again->pending->arrivals[1].time_us, 8);
  for (const char* bad : {"", "{}", "[]", "{\"version\":2}", "{\"version\":1}", "{\"version\":1,\"trial\":5}"})
    EXPECT_FALSE(parse_collect_state(bad)) << bad;
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
