#include "report/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/csv.h"
#include "codec/gzip.h"
#include "codec/run_json.h"
#include "report/html_page.h"
#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

std::string csv_of(int64_t rows) {
  Writer out;
  write_csv_header(out, sample_schema());
  for (int64_t i = 0; i < rows; ++i) write_csv_row(out, sample_schema(), sample_row(i));
  return std::string(out.view());
}

void put_run(const TempDir& dir, const tacho::Run& run) {
  std::filesystem::create_directory(dir / run.id);
  Summary summary;
  summary.begin(sample_schema());
  for (int64_t i = 0; i < 3; ++i) summary.add(sample_row(i));
  Writer out;
  write_run_json(out, run, summary);
  spill(dir / run.id + "/run.json", out.view());
  spill(dir / run.id + "/metrics.csv", csv_of(3));
}

tacho::Run finished() {
  auto run = sample_run();
  run.outcome.state = RunState::finished;
  run.outcome.exit_code = 0;
  run.outcome.duration_ns = 3'000'000'000;
  return run;
}

// The chart data of the n-th run on the page.
Json data_of(const std::string& page, int n = 0) {
  const std::string mark = "<script type=\"application/json\">";
  size_t at = 0;
  for (int i = 0; i <= n; ++i) at = page.find(mark, at + 1);
  at += mark.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(Html, AStoredRun) {
  const TempDir dir;
  put_run(dir, finished());
  const std::string inputs[] = {"20261115-a1b2"};
  ASSERT_TRUE(write_html_report(inputs, dir.path(), dir / "r.html"));
  const std::string page = slurp(dir / "r.html");
  for (const char* text : {"<!doctype html>", "<h1>train</h1>", "python3 train.py --epochs 3", "node7", "badge\">ok<",
                           "3 samples", "memory of 1 process was not readable", "<td>process_cpu_usage", "</html>"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  const Json data = data_of(page);
  EXPECT_EQ(data["t"], (Json{1.0, 2.0, 3.0}));
  EXPECT_EQ(data["charts"][0]["title"], "CPU");
  EXPECT_EQ(data["charts"][0]["limit"], 2.5);
  EXPECT_EQ(data["charts"][0]["series"][1]["mean"], (Json{1.5, 1.5, 1.5}));
  EXPECT_EQ(data["charts"][1]["series"][0]["name"], "job");
  EXPECT_EQ(data["charts"][1]["series"][0]["mean"][0], 128 << 20);
  for (const Json& chart : data["charts"]) EXPECT_NE(chart["title"], "GPU");
}

TEST(Html, NothingIsLoadedFromElsewhere) {
  const TempDir dir;
  put_run(dir, finished());
  const std::string inputs[] = {"last"};
  ASSERT_TRUE(write_html_report(inputs, dir.path(), dir / "r.html"));
  std::string page = slurp(dir / "r.html");
  const std::string svg = "http://www.w3.org/2000/svg";  // a name, not an address
  page.erase(page.find(svg), svg.size());
  for (const char* text : {"http:", "https:", "src=", "href=", "@import", "url("})
    EXPECT_EQ(page.find(text), std::string::npos) << text;
}

TEST(Html, TextOfTheJobNeverBecomesMarkup) {
  const TempDir dir;
  auto run = finished();
  run.metadata.job_name = "<script>alert(1)</script>";
  run.command = {"sh", "-c", "echo '</script><b>' & \"x\""};
  run.notes = {"<img src=x>"};
  run.metadata.tags = {"a=<i>"};
  run.host.host_hostname = "<u>";
  put_run(dir, run);
  const std::string inputs[] = {"last"};
  ASSERT_TRUE(write_html_report(inputs, dir.path(), dir / "r.html"));
  const std::string page = slurp(dir / "r.html");
  for (const char* text : {"<script>alert", "</script><b>", "<img", "<i>", "<u>"})
    EXPECT_EQ(page.find(text), std::string::npos) << text;
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt;"), std::string::npos);
}

TEST(Html, HiddenFieldsStayHidden) {
  auto run = finished();
  run.hidden = {"command", "job_name", "host_hostname", "tags"};
  ReportRun report;
  report.run = run;
  report.title = run.id;
  const std::string page = html_page({&report, 1});
  for (const char* text : {"train", "node7", "b=2"}) EXPECT_EQ(page.find(text), std::string::npos) << text;
}

TEST(Html, MetricsFilesPlainAndCompressedBelowEachOther) {
  const TempDir dir;
  spill(dir / "plain.csv", csv_of(4));
  GzipEncoder gzip;
  ASSERT_TRUE(gzip.open());
  ASSERT_TRUE(gzip.put(csv_of(6)));
  ASSERT_TRUE(gzip.finish());
  spill(dir / "small.csv.gz", gzip.pending());
  const std::string inputs[] = {dir / "plain.csv", dir / "small.csv.gz"};
  ASSERT_TRUE(write_html_report(inputs, dir / "no store", dir / "r.html"));
  const std::string page = slurp(dir / "r.html");
  EXPECT_NE(page.find("<h1>plain.csv</h1>"), std::string::npos);
  EXPECT_NE(page.find("<h1>small.csv.gz</h1>"), std::string::npos);
  EXPECT_EQ(data_of(page, 0)["t"], (Json{1.0, 2.0, 3.0, 4.0}));
  EXPECT_EQ(data_of(page, 1)["t"].size(), 6u);
}

TEST(Html, ALongRunKeepsAtMostTwoThousandPoints) {
  const TempDir dir;
  spill(dir / "long.csv", csv_of(20'000));
  const std::string inputs[] = {dir / "long.csv"};
  ASSERT_TRUE(write_html_report(inputs, "", dir / "r.html"));
  const Json data = data_of(slurp(dir / "r.html"));
  EXPECT_LE(data["t"].size(), 2000u);
  EXPECT_GE(data["t"].size(), 1000u);
  EXPECT_EQ(data["t"].back(), 20'000.0);
  EXPECT_TRUE(data["charts"][0]["series"][0].contains("max"));
}

TEST(Html, WhatIsMissingIsSaid) {
  const TempDir dir;
  EXPECT_FALSE(write_html_report({}, dir.path(), dir / "r.html"));
  const std::string nothing[] = {"last"};
  EXPECT_FALSE(write_html_report(nothing, dir.path(), dir / "r.html"));
  put_run(dir, finished());
  std::filesystem::remove(dir / "20261115-a1b2/metrics.csv");
  ASSERT_TRUE(write_html_report(nothing, dir.path(), dir / "r.html"));
  EXPECT_NE(slurp(dir / "r.html").find("There are no charts"), std::string::npos);
  EXPECT_FALSE(write_html_report(nothing, dir.path(), "/no/such/folder/r.html"));
}

}  // namespace
}  // namespace tacho
