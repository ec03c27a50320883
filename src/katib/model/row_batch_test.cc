// A batch says what the rows say that went in, whatever was done with it: beside a plain vector of rows.
#include "katib/model/row_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tacho {
namespace {

class RandomRows {
 public:
  explicit RandomRows(unsigned seed) : random_(seed) {}
  size_t pick(size_t count) { return random_() % count; }
  MetricRow row(bool with_step) {
    static const std::vector<std::string> kTimes{"2026-11-15T09:30:00.000001Z", "2026-11-15T09:30:00.000002Z", "",
                                                 "no time", "2026-11-15T09:30:00." + std::string(60, '1') + "Z"};
    MetricRow out{kTimes[pick(kTimes.size())], text("loss"), text("0.5"), {}, {}};
    if (with_step && pick(3) > 0) out.step = static_cast<int64_t>(pick(4));
    if (with_step && pick(3) > 0) out.epoch = static_cast<int64_t>(pick(4));
    return out;
  }

 private:
  std::string text(std::string_view some) {
    return std::string(some.substr(0, pick(5))) + std::string(pick(20) == 0 ? 300 : 0, 'x');
  }
  std::mt19937 random_;
};

void expect_same(const RowBatch& batch, const std::vector<MetricRow>& rows) {
  ASSERT_EQ(batch.size(), rows.size());
  std::vector<size_t> uses(batch.names().size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowView row = batch[i];
    ASSERT_EQ(row.time_stamp, rows[i].time_stamp.text()) << i;
    ASSERT_EQ(row.us, rows[i].time_stamp.us());
    ASSERT_EQ(batch.us_of(i), row.us);
    ASSERT_EQ(row.name, rows[i].name);
    ASSERT_EQ(row.value, rows[i].value);
    ASSERT_EQ(batch.value_of(i), row.value);
    ASSERT_EQ(row.step, rows[i].step);
    ASSERT_EQ(row.epoch, rows[i].epoch);
    const MetricRow copy = row;
    ASSERT_TRUE(copy.name == rows[i].name && copy.value == rows[i].value && copy.time_stamp == rows[i].time_stamp &&
                copy.time_stamp.us() == rows[i].time_stamp.us());
    ASSERT_EQ(batch.names()[batch.name_of(i)], rows[i].name);
    ++uses[batch.name_of(i)];
  }
  for (size_t name = 0; name < uses.size(); ++name) ASSERT_EQ(batch.rows_of_name(name), uses[name]);
  ASSERT_EQ(std::set(batch.names().begin(), batch.names().end()).size(), batch.names().size());
}

TEST(RowBatch, SaysWhatTheRowsSayAtRandom) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    RandomRows random(seed);
    RowBatch batch;
    std::vector<MetricRow> rows;
    const bool with_step = seed % 2 == 0;
    for (size_t turn = random.pick(60); turn > 0; --turn) {
      const size_t number = rows.empty() ? 0 : random.pick(rows.size());
      switch (rows.empty() ? 0 : random.pick(10)) {
        default:
          rows.push_back(random.row(with_step));
          batch.add(rows.back());
          break;
        case 7:
          rows[number] = random.row(with_step);
          batch.replace(number, rows[number]);
          break;
        case 8:
          rows[number].time_stamp = TimeStamp::at(static_cast<int64_t>(random.pick(3)) * 1'000'000);
          batch.set_time(number, rows[number].time_stamp);
          break;
        case 9: {
          const size_t remainder = random.pick(4);
          const MetricRow other = random.row(with_step);
          std::vector<MetricRow> kept;
          for (size_t i = 0; i < rows.size(); ++i)
            if (i % 4 != remainder) kept.push_back(i % 3 == 0 ? other : rows[i]);
          batch.keep_if([&](size_t i) {
            if (i % 4 == remainder) return false;
            if (i % 3 == 0) batch.replace(i, other);
            return true;
          });
          rows = kept;
          break;
        }
      }
      if (random.pick(4) == 0 && !rows.empty()) {
        const size_t first = random.pick(rows.size());
        size_t end = first;
        while (end < rows.size() && rows[end].step) ++end;
        if (end > first) batch.sort_by_step(first, end);
        std::stable_sort(rows.begin() + static_cast<ptrdiff_t>(first), rows.begin() + static_cast<ptrdiff_t>(end),
                         [](const MetricRow& a, const MetricRow& b) { return *a.step < *b.step; });
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(batch, rows)) << seed;
    ASSERT_NO_FATAL_FAILURE(expect_same(RowBatch(rows), rows)) << seed;
    const size_t first = rows.empty() ? 0 : random.pick(rows.size()), count = random.pick(rows.size() - first + 1);
    const std::vector<MetricRow> part = RowPart(batch, first, count).copies();
    ASSERT_NO_FATAL_FAILURE(expect_same(RowBatch(part), {rows.begin() + static_cast<ptrdiff_t>(first),
                                                         rows.begin() + static_cast<ptrdiff_t>(first + count)}));
  }
}

}  // namespace
}  // namespace tacho
