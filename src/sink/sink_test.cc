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
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE((*sink)->write(sample_row(i), (*sink)->wants_detail() ? &detail : nullptr));
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

TEST(Sinks, CompatibleCsvHasWholeSeconds) {
  const TempDir dir;
  const std::string text = recorded(dir / "out", 1, {"csv", true});
  EXPECT_NE(text.find("\n1794735001,321,"), std::string::npos);
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
  EXPECT_FALSE((*sink)->begin(sample_run(), sample_schema()));
  for (int64_t i = 0; i < 3; ++i) EXPECT_FALSE((*sink)->write(sample_row(i), nullptr));
  EXPECT_TRUE((*sink)->end(sample_run()));
  EXPECT_EQ((*sink)->name(), "/dev/full");
}

}  // namespace
}  // namespace tacho
