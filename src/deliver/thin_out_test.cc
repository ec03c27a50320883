#include "deliver/thin_out.h"

#include <gtest/gtest.h>

#include "base/writer.h"
#include "spool/bq_record.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(MergePairwise, SumsIntervalsAndKeepsPeaks) {
  EXPECT_EQ(merge_pairwise("timestamp,system_utime,system_memory_used_mib,system_disk_read_bytes,process_pid\n"
                           "1.500,0.250,100.125,10,7\n"
                           "2.500,0.500,90.000,,7\n"
                           "3.500,,,5,7\n"),
            "timestamp,system_utime,system_memory_used_mib,system_disk_read_bytes,process_pid\n"
            "2.500,0.750,100.125,10,7\n"
            "3.500,,,5,7\n");
  EXPECT_EQ(merge_pairwise("timestamp\n"), "timestamp\n");
  // A clock that was set back in between: the pair ends when its second row does.
  EXPECT_EQ(merge_pairwise("timestamp,system_utime\n7200.001,1.000\n3602.000,2.000\n"),
            "timestamp,system_utime\n3602.000,3.000\n");
  EXPECT_EQ(merge_pairwise(""), "");
}

// Bytes over a GPU's links are what an interval added, though their probe derives them itself; what the links can carry
// is not.
TEST(MergePairwise, SumsBytesOfGpuLinks) {
  EXPECT_EQ(merge_pairwise("timestamp,system_gpu_pcie_rx_bytes,system_gpu_pcie_max_bytes_per_s,system_gpu_nvlink_tx_"
                           "bytes,system_gpu_power_w\n"
                           "1.000,100,1000,7,300.500\n2.000,50,1000,8,200.000\n"),
            "timestamp,system_gpu_pcie_rx_bytes,system_gpu_pcie_max_bytes_per_s,system_gpu_nvlink_tx_bytes,system_gpu_"
            "power_w\n"
            "2.000,150,1000,15,300.500\n");
}

RowsForm within(int64_t bytes, RowsForm form = kCsvRows) {
  form.limit_bytes = bytes;
  return form;
}

std::string record(char table, int64_t time_us, std::string_view row) {
  Writer line;
  write_bq_record(line, table, time_us, row);
  return std::string(line.view());
}

TEST(MergeRecords, SumsIntervalsAndKeepsPeaks) {
  const std::string other = record('M', 5, R"({"seq":1})");
  EXPECT_EQ(
      merge_records(
          record('T', 1, R"({"timestamp":"a","seq":0,"system_utime":0.1,"system_memory_used_mib":7,"process_pid":4})") +
          other + record('T', 2, R"({"timestamp":"b","seq":1,"system_utime":0.2,"system_memory_used_mib":5.5})") +
          record('T', 3, R"({"timestamp":"c","seq":2})")),
      other +
          record('T', 2, R"({"timestamp":"b","seq":1,"system_utime":0.3,"system_memory_used_mib":7,"process_pid":4})") +
          record('T', 3, R"({"timestamp":"c","seq":2})"));
  EXPECT_EQ(merge_records(""), "");
  const std::string odd = record('T', 1, "[1]") + record('T', 2, "{}");
  EXPECT_EQ(merge_records(odd), odd);
}

TEST(ThinOut, RecordsToo) {
  const TempDir dir;
  auto writer = SpoolWriter::create({dir.path() + "/spool"}, "20261115T140000Z");
  ASSERT_TRUE(writer);
  writer->set_ending(kRecordsEnding);
  for (int row = 0; row < 10; ++row)
    ASSERT_TRUE(writer->append(record(row < 4 ? 'T' : 'M', row, R"({"system_utime":1})")));
  ASSERT_TRUE(writer->seal());
  const SpoolRun run(writer->folder());
  const auto thin = [&] {
    return thin_out(
        run, [](uint32_t) { return false; }, within(0, kRecordRows), dir.path());
  };
  EXPECT_EQ(thin(), 2);
  EXPECT_EQ(run.sealed().at(0).seal.rows, 8);
  EXPECT_EQ(thin(), 1);
  EXPECT_EQ(thin(), 0);  // what is left is not of a table of our own
  const auto text = run.read(run.sealed().at(0));
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(R"({"system_utime":4})"), std::string::npos) << *text;
}

TEST(ThinOut, OldestFirstAndNothingUploaded) {
  const TempDir dir;
  auto writer = SpoolWriter::create({dir.path() + "/spool"}, "20261115T140000Z");
  ASSERT_TRUE(writer);
  writer->set_header("timestamp,system_utime\n");
  for (int segment = 0; segment < 3; ++segment) {
    for (int row = 0; row < 10; ++row) ASSERT_TRUE(writer->append(std::to_string(segment * 10 + row) + ".000,1.000\n"));
    ASSERT_TRUE(writer->seal());
  }
  const SpoolRun run(writer->folder());
  EXPECT_EQ(thin_out(
                run, [](uint32_t) { return false; }, within(1 << 20), dir.path()),
            0);
  EXPECT_EQ(thin_out(
                run, [](uint32_t) { return false; }, within(0), "/elsewhere/"),
            0);
  // All must shrink, but the first is in the bucket already.
  EXPECT_EQ(thin_out(
                run, [](uint32_t number) { return number == 0; }, within(100), dir.path()),
            10);
  const auto sealed = run.sealed();
  ASSERT_EQ(sealed.size(), 3u);
  EXPECT_EQ(sealed[0].seal.rows, 10);
  EXPECT_EQ(sealed[1].seal.rows, 5);
  const auto text = run.read(sealed[1]);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("timestamp,system_utime\n11.000,2.000\n")) << *text;
}

}  // namespace
}  // namespace tacho
