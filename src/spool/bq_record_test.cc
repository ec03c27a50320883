#include "spool/bq_record.h"

#include <gtest/gtest.h>

#include <string>

#include "spool/reader.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

std::string two_records() {
  Writer out;
  write_bq_record(out, 'R', 17, R"({"cpu_count":2})");
  write_bq_record(out, 'E', 1794735000250000, R"({"seq":0,"event":"final"})");
  return std::string(out.view());
}

TEST(BqRecord, ReadsWhatItWrote) {
  const std::string text = two_records();
  BqRecords records(text);
  BqRecord record;
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(record.table, 'R');
  EXPECT_EQ(record.time_us, 17);
  EXPECT_EQ(record.row, R"({"cpu_count":2})");
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(record.table, 'E');
  EXPECT_EQ(record.time_us, 1794735000250000);
  EXPECT_EQ(record.row, R"({"seq":0,"event":"final"})");
  EXPECT_FALSE(records.next(record));
  EXPECT_EQ(records.damaged(), 0);
  EXPECT_TRUE(text.starts_with("20 ")) << "length of 'R 17 {\"cpu_count\":2}': " << text;
}

// Every cut and every changed byte loses the records that it touches and no other.
TEST(BqRecord, DamageStaysWithinARecord) {
  const std::string text = two_records();
  const size_t first = text.find('\n') + 1;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    int64_t rows = 0;
    const size_t whole = whole_bq_records(std::string_view(text).substr(0, cut), &rows);
    EXPECT_EQ(rows, cut >= first ? 1 : 0) << cut;
    EXPECT_EQ(whole, cut >= first ? first : 0) << cut;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    std::string broken = text;
    broken[at] ^= 1;
    BqRecords records(broken);
    int good = 0;
    for (BqRecord record; records.next(record);) ++good;
    EXPECT_LE(good, 1) << at;
    EXPECT_TRUE(good == 1 || text[at] == '\n') << at;
  }
}

TEST(BqRecord, ZerosBehindACrashAreNoRecord) {
  std::string text = two_records() + std::string(4096, '\0');
  int64_t rows = 0;
  EXPECT_EQ(whole_bq_records(text, &rows), two_records().size());
  EXPECT_EQ(rows, 2);
}

TEST(BqRecord, ASpoolOfRecordsIsRecoveredAfterAKill) {
  const TempDir dir;
  std::string folder;
  {
    auto writer = SpoolWriter::create({dir / "spool"}, "20261115T093000Z");
    ASSERT_TRUE(writer);
    writer->set_ending(kRecordsEnding);
    folder = writer->folder();
    ASSERT_TRUE(writer->append(two_records()));
    ASSERT_TRUE(writer->seal());
    EXPECT_EQ(slurp(folder + "/000000.rec"), two_records());
    ASSERT_TRUE(writer->append(two_records()));
    ASSERT_TRUE(writer->append("57 0000"));  // torn
  }
  SpoolRun run(folder);
  ASSERT_TRUE(run.lock());
  std::vector<Torn> torn;
  ASSERT_TRUE(run.recover(kRecordsEnding, torn));
  ASSERT_EQ(torn.size(), 1u);
  EXPECT_EQ(torn[0].bytes, 7);
  const auto sealed = run.sealed();
  ASSERT_EQ(sealed.size(), 2u);
  EXPECT_EQ(sealed[1].path, folder + "/000001.rec");
  EXPECT_EQ(sealed[1].seal.rows, 2);
  const auto text = run.read(sealed[1]);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, two_records());
}

}  // namespace
}  // namespace tacho
