#include "report/store/csv_reader.h"

#include <gtest/gtest.h>

#include "codec/gzip.h"
#include "report/store/input.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

constexpr const char* kText =
    "timestamp,system_cpu_usage,system_net_recv_bytes\n"
    "100.000,1.5000,10\n"
    "100.500,,20\n"
    "not,a,row\n"
    "101.000,1.0000\n"
    "101.000,1.0000,3,4\n"
    "102.000,2.0000,30\n"
    "103.000,2.0";

std::vector<Row> all_rows(const std::string& path, int64_t* skipped = nullptr) {
  CsvReader reader;
  const Status status = reader.open(path);
  EXPECT_TRUE(status) << status.error().message();
  std::vector<Row> rows;
  for (Row row; reader.next(row);) rows.push_back(row);
  if (skipped != nullptr) *skipped = reader.skipped();
  return rows;
}

void check(const std::vector<Row>& rows) {
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].interval_ns, 0);
  EXPECT_EQ(rows[1].interval_ns, 500'000'000);
  EXPECT_TRUE(is_absent(rows[1].cells[1]));
  EXPECT_EQ(rows[1].cells[2], 20);
  EXPECT_EQ(rows[2].realtime_ns, 102'000'000'000);
  EXPECT_EQ(rows[2].index, 2);
}

TEST(CsvReader, SkipsWhatIsNoRowAndTheTornEnd) {
  const TempDir dir;
  spill(dir / "a.csv", kText);
  int64_t skipped = 0;
  check(all_rows(dir / "a.csv", &skipped));
  EXPECT_EQ(skipped, 3);
}

// The clock was set back by an hour: one row a millisecond after the last, then the new time. No rate may come of that.
TEST(CsvReader, AClockThatWasSetBackMakesNoRate) {
  const TempDir dir;
  spill(dir / "a.csv",
        "timestamp,system_net_recv_bytes\n7200.000,10\n7201.000,10\n7201.001,10\n3602.000,10\n3603.000,10\n3603.001,"
        "10\n");
  const std::vector<Row> rows = all_rows(dir / "a.csv");
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(rows[i].interval_ns, 1'000'000'000) << i;
  EXPECT_NEAR(static_cast<double>(rows[5].interval_ns), 1e6, 1) << "a closing row may come at once";
}

// A time of today as a double is known to a quarter of a microsecond: rows of the same length are as long to the last
// bit.
TEST(CsvReader, RowsOfOneLengthAreEqual) {
  const TempDir dir;
  std::string text = "timestamp,x\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(1'763'587'000 + i / 10) + "." + std::to_string(i % 10) + "00,1\n";
  spill(dir / "a.csv", text);
  const std::vector<Row> rows = all_rows(dir / "a.csv");
  ASSERT_EQ(rows.size(), 100u);
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].interval_ns, 100'000'000) << i;
}

TEST(CsvReader, ReadsGzipFinishedOrNot) {
  const TempDir dir;
  GzipEncoder gzip;
  ASSERT_TRUE(gzip.open());
  ASSERT_TRUE(gzip.put(kText));
  ASSERT_TRUE(gzip.flush());
  const std::string unfinished(gzip.pending());
  ASSERT_TRUE(gzip.finish());
  spill(dir / "unfinished.csv.gz", unfinished);
  spill(dir / "finished.csv.gz", gzip.pending());
  check(all_rows(dir / "unfinished.csv.gz"));
  check(all_rows(dir / "finished.csv.gz"));
  spill(dir / "damaged.csv.gz", unfinished + "\xff\xff\xff\xff garbage");
  check(all_rows(dir / "damaged.csv.gz"));
}

TEST(CsvReader, ALongFileIsReadInPieces) {
  const TempDir dir;
  std::ofstream file(dir / "a.csv");
  file << "timestamp,x\n";
  for (int i = 0; i < 50'000; ++i) file << 1'000'000 + i << ".000," << i << "\n";
  file.close();
  const std::vector<Row> rows = all_rows(dir / "a.csv");
  ASSERT_EQ(rows.size(), 50'000u);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].cells[1], static_cast<double>(i));
}

TEST(CsvReader, RefusesOtherFiles) {
  const TempDir dir;
  for (const char* text : {"", "timestamp", "a,b\n1,2\n", "{\"json\": 1}\n", "\x1f\x8b rubbish"}) {
    spill(dir / "x", text);
    CsvReader reader;
    EXPECT_FALSE(reader.open(dir / "x")) << text;
  }
  CsvReader reader;
  EXPECT_EQ(reader.open(dir / "missing").error().code, Code::not_available);
}

TEST(CsvReader, TextQuotesCarriageReturnsAndNoNumbers) {
  const TempDir dir;
  spill(dir / "a.csv",
        "\xEF\xBB\xBF\"timestamp\",\"name, of it\",x\r\n"
        "100.0,train,1\r\n101.0,\"a, b\",NaN\r\n102.0,\"two\nlines \"\"so\"\"\",\"3.5\"\r\n103.0,,inf\r\n");
  CsvReader reader;
  ASSERT_TRUE(reader.open(dir / "a.csv"));
  EXPECT_EQ(reader.columns(), (std::vector<std::string>{"timestamp", "name, of it", "x"}));
  std::vector<Row> rows;
  for (Row row; reader.next(row);) rows.push_back(row);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(reader.skipped(), 0);
  for (const Row& row : rows) EXPECT_TRUE(is_absent(row.cells[1]));
  EXPECT_EQ(rows[0].cells[2], 1);
  EXPECT_TRUE(is_absent(rows[1].cells[2]));
  EXPECT_EQ(rows[2].cells[2], 3.5);
  EXPECT_TRUE(is_absent(rows[3].cells[2]));
}

TEST(CsvReader, AQuoteThatNobodyClosesEndsSomewhere) {
  const TempDir dir;
  std::string text = "timestamp,x\n100.0,\"open\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(101 + i) + ".0,1\n";
  spill(dir / "a.csv", text);
  EXPECT_GT(all_rows(dir / "a.csv").size(), 5000u);
}

TEST(CsvReader, AllBytesAreGivenOnAndEachRowsText) {
  const TempDir dir;
  spill(dir / "a.csv", kText);
  CsvReader reader;
  std::string bytes;
  reader.tee([&](std::string_view piece) { bytes += piece; });
  ASSERT_TRUE(reader.open(dir / "a.csv"));
  std::vector<std::string> lines;
  for (Row row; reader.next(row);) lines.emplace_back(reader.line_of(row));
  EXPECT_EQ(bytes, kText);
  EXPECT_TRUE(reader.is_at_end());
  EXPECT_EQ(lines, (std::vector<std::string>{"100.000,1.5000,10", "100.500,,20", "102.000,2.0000,30"}));
}

TEST(CsvReader, TheSchemaFollowsFromNamesAndDigits) {
  const TempDir dir;
  spill(dir / "a.csv", kText);
  CsvReader reader;
  ASSERT_TRUE(reader.open(dir / "a.csv"));
  for (Row row; reader.next(row);) {}
  const Schema schema = reader.schema();
  ASSERT_EQ(schema.size(), 3u);
  EXPECT_EQ(schema[1].decimals, 4);
  EXPECT_EQ(schema[1].rule, Rule::level);
  EXPECT_EQ(schema[2].decimals, 0);
  EXPECT_EQ(schema[2].rule, Rule::delta);
}

TEST(CsvReader, DecimalsAreKnownBeforeTheFirstRow) {
  const TempDir dir;
  spill(dir / "a.csv", "timestamp,a,b,c\n1.5,17,x.py,\n2.5,17.385,\"4\",\n3.5,17.3,5,0.25\n");
  CsvReader reader;
  ASSERT_TRUE(reader.open(dir / "a.csv"));
  const Schema schema = reader.schema();
  EXPECT_EQ(schema[1].decimals, 3);
  EXPECT_EQ(schema[2].decimals, 0);
  EXPECT_EQ(schema[3].decimals, 2);
  Row row;
  int rows = 0;
  while (reader.next(row)) ++rows;
  EXPECT_EQ(rows, 3);
}

TEST(MetricsFile, DamagedLinesAreTold) {
  const TempDir dir;
  spill(dir / "x.csv", kText);
  const auto input = read_input(dir.path(), dir / "x.csv");
  ASSERT_TRUE(input);
  EXPECT_EQ(input->stored.run.notes, std::vector<std::string>{"3 damaged lines of x.csv were left out."});
  EXPECT_NE(input->stored.json.find("3 damaged lines"), std::string::npos);
  EXPECT_EQ(left_out_note(1, "a.csv"), "A damaged line of a.csv was left out.");
  EXPECT_EQ(left_out_note(0, "a.csv"), "");
}

}  // namespace
}  // namespace tacho
