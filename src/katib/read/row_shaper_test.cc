#include "katib/read/row_shaper.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "katib/read/arrival_marks.h"
#include "katib/read/folder_watch.h"
#include "katib/read/worker.h"
#include "os/file.h"

namespace tacho {
namespace {

MetricRow row(std::string time, std::string value, std::optional<int64_t> step = {}) {
  return {std::move(time), "m", std::move(value), step, {}};
}
const std::string kZero(kZeroTime);

TEST(Shape, DropInLeavesRowsAlone) {
  LastTimes last;
  const auto rows =
      shape_rows({row("2026-11-15T09:30:00.10+01:00", "1"), row("2026-11-15T09:30:00.10+01:00", "2"), row(kZero, "3")},
                 {}, {}, last);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].time_stamp, "2026-11-15T09:30:00.10+01:00");
  EXPECT_EQ(rows[2].time_stamp, kZero);
}

TEST(Shape, ArrivalTimesIncreaseStrictly) {
  LastTimes last;
  const ShapeRules rules{true, true, false};
  const std::vector<ArrivalRun> arrivals{{2, 1'700'000'000'000'000}, {2, 1'700'000'000'000'001}};
  const auto rows = shape_rows({row(kZero, "1"), row(kZero, "2"), row(kZero, "3"), row("2026-01-01T00:00:00Z", "4")},
                               arrivals, rules, last);
  EXPECT_EQ(rows[0].time_stamp, "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(rows[1].time_stamp, "2023-11-14T22:13:20.000001Z");
  EXPECT_EQ(rows[2].time_stamp, "2023-11-14T22:13:20.000002Z");
  EXPECT_EQ(rows[3].time_stamp, "2026-01-01T00:00:00Z");
}

TEST(Shape, SameInputSameRows) {
  const ShapeRules rules{true, true, true};
  LastTimes a, b;
  const std::vector<MetricRow> raw{row(kZero, "1", 3), row(kZero, "2"), row("2026-01-01T00:00:00Z", "3", 1),
                                   row("2026-01-01T00:00:00Z", "4", 0)};
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

// The rules one after the other, over rows as they are.
std::vector<MetricRow> shaped_plainly(std::vector<MetricRow> rows, const std::vector<ArrivalRun>& arrivals,
                                      const ShapeRules& rules, LastTimes& last) {
  std::vector<int64_t> arrived;
  for (const ArrivalRun& run : arrivals) arrived.insert(arrived.end(), static_cast<size_t>(run.rows), run.time_us);
  for (size_t i = 0; rules.arrival && i < rows.size(); ++i) {
    if (rows[i].time_stamp != zero_time()) continue;
    const int64_t time_us = i < arrived.size() ? arrived[i] : arrived.empty() ? 0 : arrived.back();
    last[""].reported_us = std::max(time_us, last[""].reported_us + 1);
    rows[i].time_stamp = TimeStamp::at(last[""].reported_us);
  }
  for (size_t first = 0, end = 0; rules.set_apart && first < rows.size(); first = end) {
    bool steps = true;
    for (end = first; end < rows.size() && rows[end].time_stamp == rows[first].time_stamp; ++end)
      steps = steps && rows[end].step;
    for (size_t i = first; steps && i < end; ++i)
      for (size_t j = end - 1; j > i; --j)
        if (*rows[j].step < *rows[j - 1].step) std::swap(rows[j], rows[j - 1]);
  }
  std::vector<MetricRow> out;
  for (MetricRow& row : rows) {
    if (!make_valid(row)) continue;
    if (rules.set_apart && row.time_stamp.us()) {
      const int64_t time_us = *row.time_stamp.us();
      if (const auto seen = last.find(row.name); seen == last.end()) {
        last[row.name] = {time_us, time_us};
      } else if (time_us < seen->second.given_us || time_us > seen->second.reported_us) {
        seen->second = {time_us, time_us};
      } else {
        seen->second = {time_us, seen->second.reported_us + 1};
        row.time_stamp = TimeStamp::at(seen->second.reported_us);
      }
    }
    out.push_back(row);
    for (const auto& [suffix, number] : {std::pair("@step", row.step), std::pair("@epoch", row.epoch)}) {
      MetricRow extra{row.time_stamp, row.name + suffix, std::to_string(number.value_or(0)), {}, {}};
      if (rules.steps && number && make_valid(extra)) out.push_back(extra);
    }
  }
  return out;
}

TEST(Shape, IsWhatTheRulesSayAtRandom) {
  const std::vector<std::string> times{
      kZero, kZero, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z", "2025-06-01T00:00:00+01:00", "never"};
  const std::vector<std::string> names{"m", "loss", "a\xff", "a\xEF\xBF\xBD", "", std::string(300, 'n')};
  const std::vector<std::string> values{"1", "0.25", "", "\xff", std::string("a\0b", 3), std::string(70'000, 'v')};
  size_t rows_seen = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](size_t count) { return random() % count; };
    const ShapeRules rules{pick(2) == 0, pick(2) == 0, pick(2) == 0};
    LastTimes last, last_plainly;
    for (int chunk = 0; chunk < 3; ++chunk) {
      std::vector<MetricRow> raw;
      for (size_t left = pick(30); left > 0; --left) {
        const auto one_of = [&](const auto& of) { return of[pick(pick(4) == 0 ? of.size() : 2)]; };
        MetricRow next{one_of(times), one_of(names), one_of(values), {}, {}};
        if (pick(3) > 0) next.step = static_cast<int64_t>(pick(5));
        if (pick(3) == 0) next.epoch = static_cast<int64_t>(pick(5));
        raw.push_back(next);
      }
      std::vector<ArrivalRun> arrivals;
      for (size_t left = pick(4); left > 0; --left)
        arrivals.push_back({static_cast<int64_t>(pick(20)), 1'700'000'000'000'000 + static_cast<int64_t>(pick(20))});
      const RowBatch got = shape_rows(raw, arrivals, rules, last);
      const std::vector<MetricRow> expected = shaped_plainly(raw, arrivals, rules, last_plainly);
      ASSERT_EQ(got.size(), expected.size()) << seed;
      rows_seen += got.size();
      for (size_t i = 0; i < expected.size(); ++i) {
        const MetricRow row = got[i];
        ASSERT_TRUE(row.time_stamp == expected[i].time_stamp && row.time_stamp.us() == expected[i].time_stamp.us() &&
                    row.name == expected[i].name && row.value == expected[i].value && row.step == expected[i].step &&
                    row.epoch == expected[i].epoch)
            << seed << ": row " << i;
      }
    }
  }
  EXPECT_GT(rows_seen, 5'000u);
}

TEST(Valid, MadeOrRefused) {
  MetricRow good{kZero, std::string("n\xff", 2), std::string("a\0b", 3), {}, {}};
  EXPECT_TRUE(make_valid(good));
  EXPECT_EQ(good.name, "n\xEF\xBF\xBD");
  EXPECT_EQ(good.value,
            "a\xEF\xBF\xBD"
            "b");
  std::string umlauts;
  for (int i = 0; i < 255; ++i) umlauts += "\u00e4";
  MetricRow longest{kZero, umlauts, std::string(65'535, 'x'), {}, {}};
  EXPECT_TRUE(make_valid(longest));
  MetricRow name{kZero, umlauts + "a", "1", {}, {}}, value{kZero, "m", std::string(65'536, 'x'), {}, {}},
      time{"yesterday", "m", "1", {}, {}}, none{kZero, "", "1", {}, {}};
  EXPECT_FALSE(make_valid(name));
  EXPECT_FALSE(make_valid(value));
  EXPECT_FALSE(make_valid(time));
  EXPECT_FALSE(make_valid(none));
}

TEST(Marks, RunsOfRows) {
  ArrivalMarks marks;
  marks.add(1'000, 100);
  marks.add(1'000, 150);  // nothing new
  marks.add(1'500, 200);
  ArrivalRuns some(&marks);
  for (uint64_t place = 800; place < 1'800; place += 100) some.add(place);
  const int64_t before_us = now_us();
  ArrivalRuns unknown(nullptr);
  for (const uint64_t place : {0, 0, 7}) unknown.add(place);
  const auto runs = some.take();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].rows, 2);
  EXPECT_EQ(runs[0].time_us, 100);
  EXPECT_EQ(runs[1].rows, 5);
  EXPECT_EQ(runs[1].time_us, 200);
  EXPECT_EQ(runs[2].rows, 3);
  EXPECT_GT(runs[2].time_us, 1'700'000'000'000'000);  // as it is read
  const auto now = unknown.take();
  ASSERT_EQ(now.size(), 1u);
  EXPECT_EQ(now[0].rows, 3);
  EXPECT_GE(now[0].time_us, before_us);
  for (uint64_t i = 0; i < 100'000; ++i) marks.add(2'000 + i, 300);
  ArrivalRuns many(&marks);
  for (uint64_t place = 0; place < 102'000; ++place) many.add(place);
  EXPECT_LT(many.take().size(), 3000u);
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

}  // namespace
}  // namespace tacho
