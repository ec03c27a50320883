#include "report/store/phases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/store/phase_text.h"

namespace tacho {
namespace {

Marks marks_of(std::string_view text, size_t piece = SIZE_MAX) {
  MarksParser parser;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) parser.take(text.substr(0, piece));
  return parser.finish();
}

TEST(Marks, AreReadInAnyPieces) {
  const std::string text =
      "timestamp,event,name\n3,phase,\"b,\"\"x\"\"\"\r\n1.5,phase,a\n2,end\n2.5,end,\nx,phase,a\n4,point\n5,phase,torn";
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{7}, SIZE_MAX}) {
    const Marks marks = marks_of(text, piece);
    ASSERT_EQ(marks.marks.size(), 4u);
    EXPECT_EQ(marks.marks[0].name, "a");
    EXPECT_EQ(marks.marks[3].name, "b,\"x\"");
    EXPECT_EQ(marks.dropped, 3);
  }
}

TEST(Marks, AreBounded) {
  std::string text;
  for (int i = 0; i < 10'003; ++i) text += "1,point,p\n";
  text += std::string(100'000, 'x') + "\n";
  const Marks marks = marks_of(text, 1000);
  EXPECT_EQ(marks.marks.size(), kMostMarks);
  EXPECT_EQ(marks.dropped, 4);
}

Row row_at(double end_s, double interval_s, double cpu_s, double memory) {
  Row row;
  row.cells = {end_s, cpu_s, 0, memory, 1000};
  row.interval_ns = static_cast<int64_t>(interval_s * 1e9);
  return row;
}

TEST(Phases, ShareTheRowsByTime) {
  std::vector<Phase> phases =
      phases_of(marks_of("9,phase,early\n10.5,phase,a\n12,end\n11,point,p\n13,phase,open\n"), 10, 14);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].started_s, 10);  // not before the run
  EXPECT_EQ(phases[2].ended_s, 14);    // with the run
  PhaseFold fold(
      phases, {"timestamp", "process_utime", "process_stime", "process_memory_mib", "process_disk_read_bytes"}, false);
  for (int i = 1; i <= 4; ++i) fold.add(row_at(10 + i, 1, 1, 100 * i));
  fold.finish();
  EXPECT_NEAR(phases[0].cpu_s, 0.5, 1e-9);
  EXPECT_NEAR(phases[1].cpu_s, 1.5, 1e-9);
  EXPECT_NEAR(phases[1].cpu_mean, 1, 1e-9);
  EXPECT_NEAR(phases[1].disk_read_bytes, 1500, 1e-6);
  EXPECT_EQ(phases[1].memory_peak_mib, 200);
  EXPECT_TRUE(std::isnan(phases[0].memory_peak_mib));  // no level was read in it
  EXPECT_EQ(phases[2].memory_peak_mib, 400);
  EXPECT_TRUE(std::isnan(phases[2].gpu_mean));
}

TEST(Phases, OfAKilledRunEndWithItsLastRow) {
  std::vector<Phase> phases = phases_of(marks_of("10,phase,a\n"), 10, std::numeric_limits<double>::infinity());
  PhaseFold fold(phases, {"timestamp"}, false);
  fold.add(row_at(12.5, 2.5, 1, 1));
  fold.finish();
  EXPECT_EQ(phases[0].ended_s, 12.5);
}

TEST(Phases, TableFitsTheWidth) {
  tacho::Run run;
  EXPECT_EQ(phase_table(run, 80), "");
  run.phases.push_back({.name = std::string(300, 'x') + "\x1b[31m", .started_s = 1, .ended_s = 2});
  const std::string text = phase_table(run, 80);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) EXPECT_LE(text.find('\n', at) - at, 84u);
}

}  // namespace
}  // namespace tacho
