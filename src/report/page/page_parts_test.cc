#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/page_text.h"
#include "report/page/html_devices.h"
#include "report/page/page_band.h"
#include "report/page/page_marks.h"
#include "report/page/page_processes.h"
#include "report/page/page_rows.h"
#include "report/store/csv_fields.h"
#include "report/store/phases.h"
#include "support/page_reader.h"
#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using PageJson = nlohmann::json;

constexpr const char* kProcessHeader =
    "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,"
    "exit\n";

double number_in(std::string text) {
  text += ",next";
  const char* at = text.data();
  double value = 0;
  EXPECT_TRUE(take_number(at, text.data() + text.size(), value));
  EXPECT_EQ(std::string_view(at), ",next");
  return value;
}

TEST(CsvFields, NumbersAsTheGeneralWayReadsThem) {
  for (const char* text : {"0", "-0.5", "12345.678", "1794735000.250", "0.1", "123456789012345", "0.000000000000001",
                           "9007199254740993", "1e3", "-2.5E-7", "12345678901234567890.5"})
    EXPECT_EQ(number_in(text), std::strtod(text, nullptr)) << text;
  EXPECT_EQ(number_in("\"7.5\""), 7.5);
  EXPECT_EQ(number_in(" 3 "), 3);
  EXPECT_EQ(number_in("+4"), 4);
  for (const char* text : {"", "nan", "NaN", "inf", "-", ".", "word", "1.2.3", "0x10", "\"a,b\"", "1 2"})
    EXPECT_TRUE(is_absent(number_in(text))) << text;
  const std::string open = "\"never closed,1";
  const char* at = open.data();
  double value = 0;
  EXPECT_FALSE(take_number(at, open.data() + open.size(), value));
}

TEST(CsvFields, TextsWithQuotes) {
  std::vector<std::string> texts;
  std::string room;
  for (FieldSplitter fields("a,\"b,\"\"c\"\"\",,\"\""); fields.next();) texts.emplace_back(fields.text(room));
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b,\"c\"", "", ""}));
}

TEST(PageText, IsShortAndHarmless) {
  EXPECT_EQ(page_text("abcdef", 4), "abcd…");
  EXPECT_EQ(page_text("ab\xC3\xA4", 3), "ab…") << "no half character";
  EXPECT_EQ(page_text("a\nb\x1b[1m", 40).find('\x1b'), std::string::npos);
  EXPECT_EQ(script_safe("\"</script>&\""), "\"\\u003c/script\\u003e\\u0026\"");
}

TEST(PageProcesses, TheLastLineCountsAndTheRestIsOne) {
  const TempDir dir;
  std::string text = kProcessHeader;
  text += "10,1,job,job -x,100.000,,1,0.0000,1.5,0,0,,\n";
  text += "10,1,job,job -x,100.000,130.000,1,30.0000,90.5,5,6,,0\n";
  text += "broken line\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(20 + i) + ",10,child,child,101.000,102.000,1,0.1000,1,1,1,,0\n";
  text += ",,cc1,,100.500,120.000,77,12.5000,40,1,1,,\n";
  text += ",,(short-lived),,,,,0.7500,,,,,\n";
  spill(dir / "processes.csv", text);
  PageProcesses processes = read_page_processes(dir / "processes.csv");
  EXPECT_EQ(processes.skipped, 1);
  EXPECT_EQ(processes.lines.size(), 53u);
  for (int again = 0; again < 2; ++again) {  // to keep fewer twice is the same as once
    processes.keep(6);
    ASSERT_EQ(processes.lines.size(), 7u);
    EXPECT_EQ(processes.lines[0].name, "job");
    EXPECT_EQ(processes.lines[0].cpu_s, 30);
    EXPECT_EQ(processes.lines[0].exit, "0");
    EXPECT_EQ(processes.lines[1].name, "cc1");
    EXPECT_EQ(processes.lines[1].count, 77);
    EXPECT_EQ(processes.lines[6].name, "(the others)");
    EXPECT_EQ(processes.left_out, processes.lines[6].count);
    double sum = 0;
    for (const ProcessLine& one : processes.lines) sum += one.cpu_s;
    EXPECT_NEAR(sum, 30 + 5 + 12.5 + 0.75, 1e-9) << "nothing is lost";
  }
}

TEST(PageProcesses, AHundredThousandOfARunThatGoesOn) {
  const TempDir dir;
  std::ofstream file(dir / "processes.csv");
  file << kProcessHeader;
  for (int i = 0; i < 100'000; ++i) {
    file << i + 1 << ",1,sh,sh -c true,100.000,,1,0,1,0,0,,\n";
    file << i + 1 << ",1,sh,sh -c true,100.000,101.000,1,0.0100,1,0,0,,0\n";
  }
  file.close();
  PageProcesses processes = read_page_processes(dir / "processes.csv");
  processes.keep(100);
  double cpu = 0;
  int64_t count = 0;
  for (const ProcessLine& one : processes.lines) cpu += one.cpu_s, count += one.count;
  EXPECT_NEAR(cpu, 1000, 0.01);
  EXPECT_EQ(count, 100'000);
}

TEST(PageProcesses, OtherFilesAreNone) {
  const TempDir dir;
  EXPECT_TRUE(read_page_processes(dir / "missing").lines.empty());
  spill(dir / "x", "timestamp,a\n1,2\n");
  EXPECT_TRUE(read_page_processes(dir / "x").lines.empty());
}

Marks marks_in(const std::string& text) {
  MarksParser parser;
  parser.take(text);
  return parser.finish();
}

TEST(PageMarks, FollowFromLinesInAnyOrder) {
  const Marks marks = marks_in(
      "timestamp,event,name\n120.5,point,p\nrubbish\n110,phase,\"b, "
      "c\"\n100,phase,a\n115,end,\n118,phase,d\n1e300,phase,x\n117,neither,y\n");
  tacho::Run run;
  run.phases = phases_of(marks, 0, 130);
  const PageMarks page = page_marks(run, marks, {});
  ASSERT_EQ(page.phases.size(), 3u);
  EXPECT_EQ(page.phases[0].name, "a");
  EXPECT_EQ(page.phases[0].ended, 110);
  EXPECT_EQ(page.phases[1].name, "b, c");
  EXPECT_EQ(page.phases[1].ended, 115);
  EXPECT_EQ(page.phases[2].ended, 130) << "open at the end";
  ASSERT_EQ(page.points.size(), 1u);
  EXPECT_EQ(page.points[0].at, 120.5);
}

TEST(PageMarks, APhaseHasItsFiguresAndItsVerdict) {
  tacho::Run run;
  run.phases.push_back({.name = "fit", .started_s = 5.5, .ended_s = 7, .cpu_mean = 1.5});
  run.phases.push_back({.name = "save", .started_s = 7, .ended_s = 9});
  Judgement disk;
  disk.verdict = "disk";
  disk.detail = "latency";
  const PageMarks page = page_marks(run, {}, {{"fit", 1.5, disk}, {"save", 2, {}}});
  ASSERT_EQ(page.phases.size(), 2u);
  EXPECT_EQ(page.phases[0].cpu_mean, 1.5);
  EXPECT_EQ(page.phases[0].verdict, "disk latency");
  EXPECT_EQ(page.phases[1].verdict, "") << "not known";
}

TEST(PageMarks, AMillionAreAtMostSoMany) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += std::to_string(i) + ",point,p\n";
  const PageMarks page = page_marks({}, marks_in(text), {});
  EXPECT_LE(page.points.size(), 400u);
  EXPECT_GT(page.left_out, 9000);
}

TEST(PageMarks, OfManyTheLongestArePicked) {
  tacho::Run run;
  for (int i = 0; i < 3000; ++i) {
    Phase phase;
    phase.name = "p" + std::to_string(i);
    phase.started_s = 10 * i;
    phase.ended_s = 10 * i + (i % 1000 == 999 ? 9 : i == 7 ? std::nan("") : 1);
    run.phases.push_back(phase);
  }
  const PageMarks page = page_marks(run, {}, {});
  ASSERT_EQ(page.phases.size(), 400u);
  EXPECT_EQ(page.left_out, 2600);
  EXPECT_EQ(page.phases[0].name, "p0");
  EXPECT_EQ(page.phases[397].name, "p999");
  EXPECT_EQ(page.phases[399].name, "p2999");
}

TEST(PageMarks, OfAnybodysFolderButNoLinkAndNoPipe) {
  const TempDir dir;
  EXPECT_TRUE(look_at_marks(dir.path()).marks.empty());
  spill(dir / "elsewhere", "100,point,p\n");
  ASSERT_EQ(::symlink((dir / "elsewhere").c_str(), (dir / "marks.csv").c_str()), 0);
  EXPECT_TRUE(look_at_marks(dir.path()).marks.empty());
  ASSERT_EQ(::unlink((dir / "marks.csv").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir / "marks.csv").c_str(), 0600), 0);
  EXPECT_TRUE(look_at_marks(dir.path()).marks.empty());
  ASSERT_EQ(::unlink((dir / "marks.csv").c_str()), 0);
  spill(dir / "marks.csv", "100,point,p\n");
  EXPECT_EQ(look_at_marks(dir.path()).marks.size(), 1u);
}

TEST(PageBand, KeepsTheWordThatHadMostOfTheTime) {
  PageBand band;
  band.begin(4);
  EXPECT_TRUE(band.is_empty());
  for (int i = 0; i < 64; ++i) band.add(i < 32 ? "disk" : i % 8 == 0 ? "" : "cpu", 1);
  EXPECT_EQ(band.words(), (std::vector<std::string>{"disk", "cpu"}));
  ASSERT_LE(band.points(), 4u);
  EXPECT_EQ(band.word(0), 0u);
  EXPECT_EQ(band.word(band.points() - 1), 1u);
  EXPECT_EQ(band.end_s(band.points() - 1), 64);
}

TEST(PageRows, WholeWhileSmallAndEveryNthAboveThat) {
  PageRows small(1000, 500);
  small.take("a,b\n1,2\n");
  small.add("1,2");
  small.finish(true);
  EXPECT_TRUE(small.is_whole());
  GzipDecoder gunzip;
  std::string text;
  gunzip.decode(small.gzip(), text);
  EXPECT_EQ(text, "a,b\n1,2\n");

  PageRows cut(1000, 500);
  cut.take("a,b\n1,2\n");
  cut.add("1,2");
  cut.finish(false);
  EXPECT_FALSE(cut.is_whole()) << "not all of the file was read";

  PageRows large(1000, 500);
  large.take("a,b\n");
  for (int i = 0; i < 5000; ++i) {
    const std::string line = std::to_string(i * 7919 % 100'000) + "," + std::to_string(i * 104'729 % 99'991);
    large.take(line + "\n");
    large.add(line);
  }
  large.finish(true);
  EXPECT_FALSE(large.is_whole());
  EXPECT_LE(large.gzip().size(), 500u);
  EXPECT_GT(large.kept(), 20);
  EXPECT_EQ(large.rows(), 5000);
}

TEST(PageDevices, AHeatMapAndAChartEach) {
  const TempDir dir;
  spill(dir / "devices.csv",
        "timestamp,core_0_usage,core_1_usage,disk_my_disk_read_bytes,disk_my_disk_busy,net_eth0_recv_bytes,gpu_0_usage,"
        "gpu_0_vram_mib,gpu_0_power_w\n"
        "100.0,0.5,,1000,0.25,0,0.9,512,80\n101.0,1,0,2000,1,0,0.8,1024,90\n");
  tacho::Run run;
  run.outcome.started_realtime_ns = 99'000'000'000;
  const PageDevices devices = read_page_devices(dir / "devices.csv", run, 100);
  RunFacts facts;
  facts.gpus = 2;
  facts.vram_bytes = 4096.0 * (1 << 20);
  Writer out;
  JsonWriter json(out);
  json.object();
  write_page_devices(json, devices, facts);
  json.end_object();
  const PageJson data = PageJson::parse(out.view());
  EXPECT_EQ(data["heat"]["names"], (PageJson{"0", "1"}));
  EXPECT_EQ(decode_base64(data["heat"]["rows"][0]), std::string("\x64\xc8", 2));
  EXPECT_EQ(decode_base64(data["heat"]["rows"][1]), std::string("\xff\x00", 2)) << "unknown is not idle";
  ASSERT_EQ(data["devices"].size(), 3u);
  EXPECT_EQ(data["devices"][0]["title"], "GPU 0");
  EXPECT_NEAR(values_of(line_named(data["devices"][0], "memory"), "mean")[1], 50, 0.1) << "of 2048 MiB";
  EXPECT_EQ(data["devices"][1]["title"], "Disk my_disk");
  EXPECT_NEAR(values_of(line_named(data["devices"][1], "read"), "mean")[0], 1000, 1);
  EXPECT_TRUE(read_page_devices(dir / "none", run, 100).is_empty());
}

}  // namespace
}  // namespace tacho
