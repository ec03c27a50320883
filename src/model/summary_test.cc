#include "model/summary.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

Schema three_columns() {
  return {{1, "timestamp", "s", 3, Rule::level, 0, 1, "", nullptr},
          {5, "system_cpu_usage", "cores", 4, Rule::custom, 0, 1, "", nullptr},
          {17, "system_net_recv_bytes", "bytes", 0, Rule::delta, 0, 1, "", nullptr}};
}

Row row(double seconds, double cpu, double bytes) {
  Row result;
  result.interval_ns = static_cast<int64_t>(seconds * 1e9);
  result.realtime_ns = 1'700'000'000'000'000'000;
  result.cells = {1.7e9, cpu, bytes};
  return result;
}

TEST(Summary, MeanIsWeightedByTime) {
  Summary summary;
  summary.begin(three_columns());
  summary.add(row(1.0, 4.0, 100));
  summary.add(row(3.0, 2.0, 300));
  const Statistics cpu = summary.column("system_cpu_usage");
  EXPECT_DOUBLE_EQ(cpu.mean, 2.5);
  EXPECT_DOUBLE_EQ(cpu.max, 4.0);
  EXPECT_DOUBLE_EQ(cpu.min, 2.0);
  EXPECT_DOUBLE_EQ(cpu.last, 2.0);
  EXPECT_EQ(cpu.rows, 2);
  EXPECT_DOUBLE_EQ(summary.column(2).sum, 400);
  EXPECT_DOUBLE_EQ(summary.duration_s(), 4.0);
  EXPECT_EQ(summary.rows(), 2);
}

TEST(Summary, EmptyValuesAreLeftOutOfBothSums) {
  Summary summary;
  summary.begin(three_columns());
  summary.add(row(1.0, kAbsent, 1));
  summary.add(row(1.0, 3.0, 1));
  summary.add(row(8.0, kAbsent, 1));
  const Statistics cpu = summary.column(1);
  EXPECT_DOUBLE_EQ(cpu.mean, 3.0);
  EXPECT_EQ(cpu.rows, 1);
  EXPECT_DOUBLE_EQ(summary.duration_s(), 10.0);
}

TEST(Summary, NoValueAtAllStaysAbsentAndZeroIsAValue) {
  Summary summary;
  summary.begin(three_columns());
  summary.add(row(1.0, kAbsent, 0));
  EXPECT_TRUE(is_absent(summary.column(1).mean));
  EXPECT_TRUE(is_absent(summary.column(1).max));
  EXPECT_TRUE(is_absent(summary.column(1).sum));
  EXPECT_EQ(summary.column(1).rows, 0);
  EXPECT_EQ(summary.column(2).mean, 0.0);
  EXPECT_EQ(summary.column(2).max, 0.0);
  EXPECT_TRUE(is_absent(summary.column("no_such_column").mean));
  EXPECT_TRUE(is_absent(summary.column(99).mean));
}

TEST(Summary, TimestampHasADurationOnly) {
  Summary summary;
  summary.begin(three_columns());
  EXPECT_TRUE(is_absent(summary.column("timestamp").sum));
  summary.add(row(1.5, 1, 1));
  const Statistics time = summary.column("timestamp");
  EXPECT_DOUBLE_EQ(time.sum, 1.5);
  EXPECT_TRUE(is_absent(time.mean));
  EXPECT_TRUE(is_absent(time.max));
}

TEST(Summary, HighWaterMarkRaisesButNeverLowers) {
  Summary summary;
  summary.begin(three_columns());
  summary.raise_max("system_cpu_usage", 1.0);  // before any row: a maximum without a mean
  EXPECT_DOUBLE_EQ(summary.column(1).max, 1.0);
  EXPECT_TRUE(is_absent(summary.column(1).mean));
  summary.add(row(1.0, 4.0, 1));
  summary.raise_max("system_cpu_usage", 3.0);
  EXPECT_DOUBLE_EQ(summary.column(1).max, 4.0);
  summary.raise_max("system_cpu_usage", 9.0);
  summary.raise_max("system_cpu_usage", kAbsent);
  summary.raise_max("timestamp", 9.0);
  EXPECT_DOUBLE_EQ(summary.column(1).max, 9.0);
  EXPECT_DOUBLE_EQ(summary.column(1).mean, 4.0);
}

TEST(Summary, BeginForgetsTheRunBefore) {
  Summary summary;
  summary.begin(three_columns());
  summary.add(row(1.0, 4.0, 1));
  summary.begin(three_columns());
  EXPECT_EQ(summary.rows(), 0);
  EXPECT_EQ(summary.column(1).rows, 0);
  EXPECT_DOUBLE_EQ(summary.duration_s(), 0);
}

TEST(Summary, RowsWithoutTimeAndShortRowsDoNoHarm) {
  Summary summary;
  summary.begin(three_columns());
  summary.add(row(0, 2.0, 1));
  summary.add(row(-1, 4.0, 1));
  EXPECT_DOUBLE_EQ(summary.column(1).mean, 3.0);
  Row cut = row(1, 1, 1);
  cut.cells.resize(1);
  summary.add(cut);
  EXPECT_EQ(summary.column(1).rows, 2);
  EXPECT_EQ(summary.rows(), 3);
}

}  // namespace
}  // namespace tacho
