#include "sink/sink.h"

#include <gtest/gtest.h>

#include "support/sample_run.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// What was opened for a destination, or the error.
std::string opened(const std::string& destination, const SinkOptions& options = {}) {
  const auto sink = open_sink(destination, options);
  return sink ? "ok" : sink.error().message();
}

// The file after one sample run of `rows` rows.
std::string recorded(const std::string& path, int64_t rows, const SinkOptions& options = {}) {
  auto sink = open_sink(path, options);
  if (!sink) return sink.error().message();
  const tacho::Run run = sample_run();
  EXPECT_TRUE((*sink)->begin(run, sample_schema()));
  Detail detail;
  for (int64_t i = 0; i < rows; ++i)
    EXPECT_TRUE((*sink)->write(sample_row(i), (*sink)->wants_detail() ? &detail : nullptr));
  EXPECT_TRUE((*sink)->end(run));
  return slurp(path);
}

TEST(Sinks, TheExtensionDecidesFirst) {
  const TempDir dir;
  EXPECT_TRUE(recorded(dir / "a.csv", 1).starts_with("timestamp,"));
  EXPECT_TRUE(recorded(dir / "a.CSV", 1, {"json", false}).starts_with("timestamp,"));
}

TEST(Sinks, WithoutAKnownExtensionTheFormatDecides) {
  const TempDir dir;
  EXPECT_TRUE(recorded(dir / "plain", 1, {"csv", false}).starts_with("timestamp,"));
  EXPECT_EQ(opened(dir / "plain", {"xml", false}), "unknown format: xml (use csv or json)");
  const std::string error = opened(dir / "metrics.xlsx");
  EXPECT_NE(error.find("cannot tell the format"), std::string::npos);
  EXPECT_NE(error.find(".csv"), std::string::npos);
  EXPECT_NE(error.find("--format"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir / "metrics.xlsx"));
}

TEST(Sinks, GzAndJsonAreFoundByExtension) {
  const TempDir dir;
  EXPECT_TRUE(recorded(dir / "a.csv.gz", 1).starts_with("\x1f\x8b"));
  EXPECT_TRUE(recorded(dir / "a.jsonl", 2).starts_with("{\"timestamp_secs\":1794735001,"));
  EXPECT_TRUE(recorded(dir / "a.json", 1, {"csv", false}).starts_with("{"));
  EXPECT_TRUE(recorded(dir / "plain", 1, {"json", false}).starts_with("{"));
  // resource-tracker does not look at the name.
  EXPECT_TRUE(recorded(dir / "b.csv", 1, {"", true}).starts_with("{"));
}

TEST(Sinks, HtmlIsAPageAtOnceAndAReportAtTheEnd) {
  const TempDir dir;
  auto sink = open_sink(dir / "a.html", {});
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->begin(sample_run(), sample_schema()));
  EXPECT_NE(slurp(dir / "a.html").find("tacho report 20261115-a1b2"), std::string::npos);
  for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE((*sink)->write(sample_row(i), nullptr));
  ASSERT_TRUE((*sink)->end(sample_run()));
  const std::string page = slurp(dir / "a.html");
  EXPECT_NE(page.find("\"title\":\"CPU\""), std::string::npos);
  EXPECT_NE(page.find("5 samples"), std::string::npos);
  EXPECT_NE(opened("/no/such/folder/a.html").find("mkdir -p"), std::string::npos);
}

TEST(Sinks, AnUnfinishedGzHoldsAllButTheLastTenSeconds) {
  const TempDir dir;
  auto sink = open_sink(dir / "a.csv.gz", {});
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->begin(sample_run(), sample_schema()));
  for (int64_t i = 0; i < 95; ++i) ASSERT_TRUE((*sink)->write(sample_row(i), nullptr));
  const std::string copy = dir / "copy.csv.gz";
  std::filesystem::copy_file(dir / "a.csv.gz", copy);
  const auto lines = [](const std::string& path, const char* to) {
    // zcat complains about the missing end and still writes what is there.
    EXPECT_GE(std::system(("zcat " + path + " > " + to + " 2>/dev/null").c_str()), 0);
    const std::string text = slurp(to);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_GE(lines(copy, (dir / "text").c_str()), 1 + 85);
  ASSERT_TRUE((*sink)->end(sample_run()));
  EXPECT_EQ(lines(dir / "a.csv.gz", (dir / "text").c_str()), 1 + 95);
  EXPECT_EQ(std::system(("gzip -t " + (dir / "a.csv.gz")).c_str()), 0);
}

TEST(Sinks, CompatibleCsvHasWholeSeconds) {
  const TempDir dir;
  const std::string text = recorded(dir / "out", 1, {"csv", true});
  EXPECT_NE(text.find("\n1794735001,321,"), std::string::npos);
}

TEST(Sinks, MetricsTextTellsWhatIsKnownByNowAndOutlivesItsFolder) {
  const TempDir dir;
  const std::string folder = dir / "collected";
  std::filesystem::create_directory(folder);
  auto sink = open_sink(folder + "/a.prom", {});
  ASSERT_TRUE(sink);
  tacho::Run run = sample_run();
  run.outcome.state = RunState::running;
  run.limits = {};
  run.started_by.requested = {};
  EXPECT_TRUE((*sink)->begin(run, sample_schema()));
  EXPECT_NE(slurp(folder + "/a.prom").find("tacho_job_update_time_seconds{"), std::string::npos);
  EXPECT_EQ(slurp(folder + "/a.prom").find("tacho_job_cpu_request_cores{"), std::string::npos);
  run.started_by.requested.cpus = 4;
  Row row = sample_row(0);
  row.interval_ns = 15'000'000'000;
  EXPECT_TRUE((*sink)->write(row, nullptr));
  EXPECT_NE(slurp(folder + "/a.prom").find("tacho_job_cpu_request_cores{"), std::string::npos);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE((*sink)->write(row, nullptr));
  std::filesystem::create_directory(folder);
  EXPECT_TRUE((*sink)->write(row, nullptr));
  EXPECT_TRUE((*sink)->end(run));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing temporary stays";
}

// Long after the output was looked at: the section is written when the run ends.
TEST(Sinks, ASummaryThatSomebodyReplacedMeanwhileIsLeftAlone) {
  const TempDir dir;
  const std::string open = dir / "open", section = open + "/section";
  std::filesystem::create_directory(open);
  std::filesystem::permissions(open, std::filesystem::perms(01777));
  auto sink = open_sink("markdown:" + section, {});
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->begin(sample_run(), sample_schema()));
  spill(dir / "precious", "ours");
  std::filesystem::create_hard_link(dir / "precious", section);
  EXPECT_FALSE((*sink)->end(sample_run()));
  EXPECT_EQ(slurp(dir / "precious"), "ours");
}

TEST(Sinks, StandardStreamsNeedNoFormat) {
  EXPECT_EQ(opened("-"), "ok");
  EXPECT_EQ(opened("stderr:"), "ok");
}

TEST(Sinks, UnknownSchemesSayWhatIsKnown) {
  const std::string error = opened("gopher://host/x.csv");
  EXPECT_NE(error.find("gopher://"), std::string::npos);
  EXPECT_NE(error.find(".csv"), std::string::npos);
  EXPECT_NE(opened("csvv://x").find("did you mean csv?"), std::string::npos);
}

TEST(Sinks, BadPathsAreRefusedAtOpen) {
  EXPECT_NE(opened("/no/such/folder/out.csv").find("mkdir -p /no/such/folder"), std::string::npos);
  EXPECT_NE(opened("").find("-o"), std::string::npos);
}

TEST(Sinks, AFullDeviceFailsEveryRowAndTheHeaderIsTriedAgain) {
  auto sink = open_sink("/dev/full", {"csv", false});
  ASSERT_TRUE(sink);
  EXPECT_TRUE((*sink)->begin(sample_run(), sample_schema()));
  for (int64_t i = 0; i < 3; ++i) EXPECT_FALSE((*sink)->write(sample_row(i), nullptr));
  EXPECT_TRUE((*sink)->end(sample_run()));
  EXPECT_EQ((*sink)->name(), "/dev/full");
}

}  // namespace
}  // namespace tacho
