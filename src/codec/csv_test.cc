#include "codec/csv.h"

#include <gtest/gtest.h>

#include "support/sample_run.h"

namespace tacho {
namespace {

std::string csv(const Row& row, bool whole_seconds = false) {
  Writer out;
  write_csv_row(out, sample_schema(), row, whole_seconds);
  return std::string(out.view());
}

TEST(Csv, HeaderIsUnquotedWithoutATrailingComma) {
  Writer out;
  write_csv_header(out, sample_schema());
  EXPECT_EQ(out.view(),
            "timestamp,system_processes,system_cpu_usage,system_net_recv_bytes,process_cpu_usage,process_memory_mib\n");
}

TEST(Csv, EachColumnHasItsDecimals) {
  EXPECT_EQ(csv(sample_row(0)), "1794735001.250,321,2.2500,1000,1.5000,128.000\n");
}

TEST(Csv, UnknownIsEmptyAndZeroIsZero) {
  EXPECT_EQ(csv(sample_row(0, kAbsent, kAbsent)), "1794735001.250,321,2.2500,1000,,\n");
  EXPECT_EQ(csv(sample_row(0, 0, -0.0)), "1794735001.250,321,2.2500,1000,0.0000,0.000\n");
  EXPECT_EQ(csv(sample_row(0, std::numeric_limits<double>::infinity(), 1)), "1794735001.250,321,2.2500,1000,,1.000\n");
}

TEST(Csv, CompatibleTimestampsAreWholeSeconds) {
  EXPECT_EQ(csv(sample_row(0, 1, 1), true), "1794735001,321,2.2500,1000,1.0000,1.000\n");
}

TEST(Csv, TimestampIsExactWhereADoubleIsNot) {
  Row row = sample_row(0);
  row.realtime_ns = 1'794'735'001'999'999'999;
  EXPECT_TRUE(csv(row).starts_with("1794735001.999,"));
  row.realtime_ns = 1'794'735'002'000'999'999;
  EXPECT_TRUE(csv(row).starts_with("1794735002.000,"));
  row.realtime_ns = 1'794'735'002'007'000'000;
  EXPECT_TRUE(csv(row).starts_with("1794735002.007,"));
}

TEST(Csv, LargeCountersKeepEveryDigit) {
  Row row = sample_row(0);
  row.cells[3] = 9'007'199'254'740'991.0;
  EXPECT_NE(csv(row).find(",9007199254740991,"), std::string::npos);
}

TEST(Csv, ARowThatIsTooShortKeepsItsCommas) {
  Row row = sample_row(0);
  row.cells.resize(2);
  EXPECT_EQ(csv(row), "1794735001.250,321,,,,\n");
}

}  // namespace
}  // namespace tacho
