#include "report/series.h"

#include <gtest/gtest.h>

#include <array>

#include "support/sample_run.h"

namespace tacho {
namespace {

constexpr std::array<std::string_view, 3> kColumns{"process_cpu_usage", "system_net_recv_bytes", "no_such_column"};

TEST(Series, KeepsEveryRowWhileTheyFit) {
  SeriesFold fold;
  fold.begin(sample_schema(), kColumns, 8);
  for (int64_t i = 0; i < 8; ++i) {
    Row row = sample_row(i, i == 3 ? kAbsent : static_cast<double>(i));
    row.interval_ns = 500'000'000;
    fold.add(row);
  }
  ASSERT_EQ(fold.points(), 8u);
  EXPECT_FALSE(fold.merged());
  EXPECT_EQ(fold.mean("process_cpu_usage", 2), 2);
  EXPECT_TRUE(is_absent(fold.mean("process_cpu_usage", 3)));
  EXPECT_EQ(fold.end_s(7), 4.0);
  EXPECT_EQ(fold.mean("system_net_recv_bytes", 0), 2000);  // 1000 bytes in half a second
  EXPECT_TRUE(is_absent(fold.mean("no_such_column", 0)));
  EXPECT_FALSE(fold.has_value("no_such_column"));
  EXPECT_EQ(fold.highest("process_cpu_usage"), 7);
}

TEST(Series, MergesInPairsAndKeepsMeanAndMaximum) {
  SeriesFold fold;
  fold.begin(sample_schema(), kColumns, 8);
  for (int64_t i = 0; i < 1000; ++i) fold.add(sample_row(i, i == 777 ? 50.0 : static_cast<double>(i % 2)));
  EXPECT_LE(fold.points(), 8u);
  EXPECT_GE(fold.points(), 4u);
  EXPECT_TRUE(fold.merged());
  EXPECT_DOUBLE_EQ(fold.end_s(fold.points() - 1), 1000);
  EXPECT_NEAR(fold.mean("process_cpu_usage", 0), 0.5, 1e-6);
  EXPECT_EQ(fold.max("process_cpu_usage", 0), 1);
  EXPECT_EQ(fold.highest("process_cpu_usage"), 50);
}

TEST(Series, AnEmptyRunHasNoPoints) {
  SeriesFold fold;
  fold.begin(sample_schema(), kColumns);
  EXPECT_EQ(fold.points(), 0u);
  EXPECT_FALSE(fold.has_value("process_cpu_usage"));
}

}  // namespace
}  // namespace tacho
