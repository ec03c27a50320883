#include "report/page/html.h"

#include <gtest/gtest.h>

#include "codec/csv.h"
#include "codec/gzip.h"
#include "codec/run_json.h"
#include "os/line_file.h"
#include "support/page_reader.h"
#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

std::string csv_of(int64_t rows, int64_t spike = -1) {
  Writer out;
  write_csv_header(out, sample_schema());
  for (int64_t i = 0; i < rows; ++i) write_csv_row(out, sample_schema(), sample_row(i, i == spike ? 123.456 : 1.5));
  return std::string(out.view());
}

std::string put_run(const TempDir& dir, const tacho::Run& run) {
  const std::string folder = dir / run.id;
  std::filesystem::create_directory(folder);
  Summary summary;
  summary.begin(sample_schema());
  for (int64_t i = 0; i < 3; ++i) summary.add(sample_row(i));
  Writer out;
  write_run_json(out, run, summary);
  spill(folder + "/run.json", out.view());
  spill(folder + "/metrics.csv", csv_of(3));
  return folder;
}

tacho::Run finished() {
  auto run = sample_run();
  run.outcome.state = RunState::finished;
  run.outcome.exit_code = 0;
  run.outcome.duration_ns = 3'000'000'000;
  run.outcome.finished_realtime_ns = kSampleStartNs + 3'000'000'000;
  return run;
}

std::string page_of(const TempDir& dir, const std::vector<std::string>& inputs, const PageOptions& options = {}) {
  const Status status = write_html_report(inputs, dir.path(), dir / "r.html", options);
  EXPECT_TRUE(status) << status.error().message();
  return slurp(dir / "r.html");
}

TEST(Html, AStoredRun) {
  const TempDir dir;
  put_run(dir, finished());
  const std::string page = page_of(dir, {"20261115-a1b2"});
  for (const char* text :
       {"<!doctype html>", "<h1><bdi>train</bdi></h1>", "python3 train.py --epochs 3", "node7", "badge\">ok<",
        "3 samples", "memory of 1 process was not readable", ">process_cpu_usage</th><td>cores</td>", "exit 0",
        "ended 2026-11-15", "Download metrics.csv (3 rows)", "</html>"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  const Json data = data_of(page);
  EXPECT_EQ(data["point_ms"], (Json{1000, 1000, 1000}));
  const Json& cpu = chart_of(data, "cpu");
  EXPECT_EQ(cpu["limits"][0]["value"], 2.5);
  EXPECT_EQ(cpu["limits"][0]["name"], "CPU quota");
  EXPECT_EQ(values_of(line_named(cpu, "job"), "mean"), (std::vector<double>{1.5, 1.5, 1.5}));
  EXPECT_EQ(values_of(line_named(chart_of(data, "memory"), "job"), "mean")[0], 128 << 20);
  EXPECT_TRUE(chart_of(data, "gpu").is_null());
  EXPECT_EQ(rows_in(page), csv_of(3));
}

TEST(Html, NothingIsLoadedAndNothingElseRuns) {
  const TempDir dir;
  put_run(dir, finished());
  const std::string page = page_of(dir, {"last"});
  for (const char* text : {"http:", "https:", "src=", "href=", "@import", "url(", " onclick", " style="})
    EXPECT_EQ(page.find(text), std::string::npos) << text;
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
}

TEST(Html, TextOfTheJobNeverBecomesMarkup) {
  const TempDir dir;
  auto run = finished();
  run.metadata.job_name = "<script>alert(1)</script>";
  run.command = {"sh", "-c", "echo '</script><b>' & \"x\"",
                 "a\xE2\x80\xAE"
                 "b\xff"};
  run.notes = {"<img src=x>"};
  run.metadata.tags = {"a=<i>"};
  run.host.host_hostname = "<u>";
  const std::string folder = put_run(dir, run);
  spill(folder + "/processes.csv",
        "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,"
        "exit\n"
        "4001,4000,</script><b>,\"<img, \"\"src\"\"\nx>\",1794735000.250,1794735002.250,1,1.5000,10.5,1,2,,0\n");
  spill(folder + "/marks.csv",
        "timestamp,event,name\n1794735001.000,phase,<script>x\n1794735002.000,point,</script>\n");
  const std::string page = page_of(dir, {"last"});
  for (const char* text : {"<script>alert", "<script>x", "</script><b>", "<img", "<i>", "<u>", "\xE2\x80\xAE", "\xff"})
    EXPECT_EQ(page.find(text), std::string::npos) << text;
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt;"), std::string::npos);
  const Json data = data_of(page);
  EXPECT_EQ(data["processes"][0][0], "</script><b>");
  EXPECT_EQ(data["processes"][0][1], "<img, \"src\" x>");
  EXPECT_EQ(data["phases"][0][0], "<script>x");
  EXPECT_EQ(data["points"][0][0], "</script>");
}

TEST(Html, HiddenFieldsStayHidden) {
  auto run = finished();
  run.hidden = {"command", "job_name", "host_hostname", "tags"};
  ReportRun report;
  report.stored.run = run;
  report.title = run.id;
  const std::string page = html_page({&report, 1}, {});
  for (const char* text : {"train.py", ">train<", "node7", "b=2"})
    EXPECT_EQ(page.find(text), std::string::npos) << text;
}

TEST(Html, MetricsFilesPlainAndCompressedOverEachOther) {
  const TempDir dir;
  spill(dir / "plain.csv", csv_of(4));
  GzipEncoder gzip;
  ASSERT_TRUE(gzip.open());
  ASSERT_TRUE(gzip.put(csv_of(6)));
  ASSERT_TRUE(gzip.finish());
  spill(dir / "small.csv.gz", gzip.pending());
  const std::string page = page_of(dir, {dir / "plain.csv", dir / "small.csv.gz"}, {.title = "Two of <them>"});
  for (const char* text : {"<h1><bdi>Two of &lt;them&gt;</bdi></h1>", "<h2><bdi>plain.csv</bdi></h2>",
                           "<h2><bdi>small.csv.gz</bdi></h2>", "Side by side", "charts overlaid"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  const std::string three = page_of(dir, {dir / "plain.csv", dir / "small.csv.gz", dir / "plain.csv"});
  for (const char* text : {"<th scope=col class=run0><bdi>plain.csv", "<th scope=col class=run1><bdi>small.csv.gz",
                           "<th scope=col class=run2><bdi>plain.csv", "<th scope=col>change</th>",
                           "<th scope=row>verdict</th><td><bdi>unknown</bdi>"})
    EXPECT_NE(three.find(text), std::string::npos) << text << ": in the colour of its lines";
  EXPECT_EQ(data_of(page, 0)["point_ms"].size(), 4u);
  EXPECT_EQ(data_of(page, 1)["point_ms"].size(), 6u);
  EXPECT_EQ(rows_in(page, 0), csv_of(4));
  EXPECT_EQ(rows_in(page, 1), csv_of(6));
}

TEST(Html, ALongRunKeepsItsPeaks) {
  const TempDir dir;
  spill(dir / "long.csv", csv_of(20'000, 7'777));
  const std::string page = page_of(dir, {dir / "long.csv"});
  const Json data = data_of(page);
  EXPECT_LE(data["point_ms"].size(), 2000u);
  EXPECT_GE(data["point_ms"].size(), 1000u);
  const Json& line = line_named(chart_of(data, "cpu"), "job");
  const std::vector<double> max = values_of(line, "max"), min = values_of(line, "min"), mean = values_of(line, "mean");
  EXPECT_NEAR(*std::max_element(max.begin(), max.end()), 123.456, 1e-5);
  EXPECT_NEAR(min[0], 1.5, 0.001);
  EXPECT_NEAR(mean[0], 1.5, 0.001);
  EXPECT_EQ(data_of(page_of(dir, {dir / "long.csv"}, {.title = "", .max_points = 100}))["point_ms"].size() <= 100,
            true);
}

// Numbers that gzip cannot make small.
std::string rough_csv(int64_t rows) {
  std::string text = "timestamp,process_cpu_usage,process_memory_mib,a,b,c\n";
  uint64_t seed = 1;
  for (int64_t i = 0; i < rows; ++i) {
    text += std::to_string(1'794'735'000 + i) + ".000";
    for (int column = 0; column < 5; ++column) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      text += "," + std::to_string(seed >> 40) + "." + std::to_string(seed >> 30 & 1023);
    }
    text += "\n";
  }
  return text;
}

TEST(Html, AboveTheLimitThePageSaysHowManyRowsItLeavesOut) {
  const TempDir dir;
  const std::string text = rough_csv(30'000);
  spill(dir / "rough.csv", text);
  const std::string page = page_of(dir, {dir / "rough.csv"});
  EXPECT_LE(page.size(), kPageBytes);
  const std::string rows = rows_in(page);
  const auto kept = std::count(rows.begin(), rows.end(), '\n') - 1;
  EXPECT_GT(kept, 1000);
  EXPECT_LT(kept, 30'000);
  const auto grouped = [](int64_t n) {
    return std::to_string(n / 1000) + "," + std::to_string(1000 + n % 1000).substr(1);
  };
  EXPECT_NE(page.find("Download " + grouped(kept) + " of 30,000 rows as CSV (" + grouped(30'000 - kept) +
                      " rows are left out)"),
            std::string::npos)
      << kept;
  size_t at = 0;  // each is a line of the file, in its order
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line); at += line.size())
    ASSERT_NE(at = text.find(line + "\n", at), std::string::npos);
}

TEST(Html, AFurtherRunTakesNoMoreThanItsShare) {
  const TempDir dir;
  spill(dir / "small.csv", csv_of(10));
  spill(dir / "rough.csv", rough_csv(30'000));
  const size_t one = page_of(dir, {dir / "small.csv"}).size();
  EXPECT_LE(page_of(dir, {dir / "small.csv", dir / "rough.csv"}).size(), one + kFurtherBytes);
  EXPECT_LE(page_of(dir, {dir / "small.csv", dir / "rough.csv", dir / "rough.csv"}).size(), one + 2 * kFurtherBytes);
}

TEST(Html, WhatIsMissingIsSaid) {
  const TempDir dir;
  EXPECT_FALSE(write_html_report({}, dir.path(), dir / "r.html"));
  const std::string nothing[] = {"last"};
  EXPECT_FALSE(write_html_report(nothing, dir.path(), dir / "r.html"));
  const std::string folder = put_run(dir, finished());
  std::filesystem::remove(folder + "/metrics.csv");
  EXPECT_NE(page_of(dir, {"last"}).find("There are no charts"), std::string::npos);
  EXPECT_FALSE(write_html_report(nothing, dir.path(), "/no/such/folder/r.html"));
}

TEST(Html, OneRowAndNoRow) {
  const TempDir dir;
  spill(dir / "one.csv", csv_of(1));
  spill(dir / "none.csv", csv_of(0));
  const Json one = data_of(page_of(dir, {dir / "one.csv"}));
  EXPECT_EQ(one["point_ms"], (Json{1000}));
  EXPECT_EQ(values_of(line_named(chart_of(one, "cpu"), "job"), "mean"), std::vector<double>{1.5});
  const std::string page = page_of(dir, {dir / "none.csv"});
  EXPECT_TRUE(data_of(page)["charts"].empty());
  EXPECT_EQ(page.find("<button type=button data-download"), std::string::npos);
}

TEST(Html, ARunThatGoesOnSaysSo) {
  const TempDir dir;
  auto run = sample_run();
  run.outcome.state = RunState::running;
  const std::string folder = put_run(dir, run);
  auto writer = LineFile::open(folder + "/metrics.csv");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->lock());
  ASSERT_TRUE(writer->write(csv_of(3) + "1794735004.2", 0));  // a torn line belongs to the file
  const std::string page = page_of(dir, {"last"});
  EXPECT_NE(page.find("still goes on"), std::string::npos);
  EXPECT_EQ(data_of(page)["running"], true);
  EXPECT_EQ(rows_in(page), csv_of(3) + "1794735004.2");
}

TEST(Html, NoContainerLineWithoutAContainer) {
  const TempDir dir;
  spill(dir / "a.csv", "timestamp,process_memory_mib,cgroup_memory_mib\n100.0,5,9\n101.0,6,9\n");
  EXPECT_TRUE(line_named(chart_of(data_of(page_of(dir, {dir / "a.csv"})), "memory"), "container").is_null());
}

TEST(Html, WhatTheMachineWaitedForIsNotTheJobs) {
  const TempDir dir;
  const std::string both = "timestamp,process_cpu_usage,system_pressure_cpu_some,cgroup_pressure_cpu_some\n";
  spill(dir / "own.csv", both + "100.0,0,0.9,0.1\n101.0,0,0.9,0.1\n");
  spill(dir / "other.csv", both + "100.0,0,0.9,\n101.0,0,0.9,\n");
  const Json own = data_of(page_of(dir, {dir / "own.csv"})), other = data_of(page_of(dir, {dir / "other.csv"}));
  EXPECT_EQ(line_named(chart_of(own, "waiting"), "for CPU")["role"], "job");
  EXPECT_EQ(line_named(chart_of(own, "waiting"), "machine, for CPU")["role"], "machine");
  EXPECT_TRUE(chart_of(own, "machine_waiting").is_null());
  EXPECT_TRUE(chart_of(other, "waiting").is_null());
  EXPECT_EQ(chart_of(other, "machine_waiting")["title"], "Time that the machine lost waiting");
}

TEST(Html, KillsAndThrottlingAreMarked) {
  const TempDir dir;
  spill(dir / "a.csv",
        "timestamp,process_cpu_usage,cgroup_throttled_time,cgroup_oom_kills\n"
        "100.0,1,0,0\n101.0,1,0.5,0\n102.0,1,0.25,0\n103.0,1,0,2\n");
  const Json data = data_of(page_of(dir, {dir / "a.csv"}));
  EXPECT_EQ(data["throttled"], (Json{{1.0, 3.0, 0.375}}));
  EXPECT_EQ(data["oom"], (Json{{4.0, 2}}));
}

}  // namespace
}  // namespace tacho
