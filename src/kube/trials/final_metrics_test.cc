#include "kube/trials/final_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kube/trials/go_number.h"
#include "kube/trials/trial_rows.h"

namespace tacho {
namespace {

MetricRow row(std::string time, std::string value, std::string name = "m") {
  return {std::move(time), std::move(name), std::move(value), {}, {}};
}

FinalMetric fold(const std::vector<MetricRow>& rows) {
  FinalMetricFold fold("m");
  for (const MetricRow& entry : rows) EXPECT_TRUE(fold.add(entry));
  return fold.result();
}

TEST(GoNumber, AsGoReadsThem) {
  for (const char* text : {"0", "1", "-1", "+1.5", ".5", "5.", "1e3", "1E+3", "-1e-400", "0x1p-2", "0X.8p1", "1_000",
                           "0x_1p0", "1_2.3_4e1_0", "inf", "-Inf", "+Infinity", "nan", "NaN"})
    EXPECT_TRUE(parse_go_float(text)) << text;
  for (const char* text :
       {"",   " 1", "1 ",   "1e",   "e5",    ".",    "0x1",  "0x",  "1e400", "-1e400",      "--1", "1,5",
        "_1", "1_", "1__0", "1_.5", "infin", "-nan", "+NaN", "0b1", "1f",    "unavailable", "1e+"})
    EXPECT_FALSE(parse_go_float(text)) << text;
  EXPECT_EQ(parse_go_float("0x1p-2"), 0.25);
  EXPECT_EQ(parse_go_float("1_000.5"), 1000.5);
  EXPECT_EQ(parse_go_float("-inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(*parse_go_float("nAn")));
}

TEST(FinalMetrics, KeepsTheTextOfTheValue) {
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "1e-1"), row("2026-11-15T10:00:02Z", "0.50"),
                  row("2026-11-15T10:00:01Z", "+.75")}),
            (FinalMetric{"m", "1e-1", "+.75", "0.50"}));
  EXPECT_EQ(fold({}), (FinalMetric{"m", "unavailable", "unavailable", "unavailable"}));
}

TEST(FinalMetrics, LatestByTimeThenByOrder) {
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "1"), row("2026-11-15T10:00:00Z", "2")}).latest, "2");
  EXPECT_EQ(fold({row("2026-11-15T11:00:00+01:00", "1"), row("2026-11-15T09:59:59.999999Z", "2")}).latest, "1")
      << "zones are compared as times";
  EXPECT_EQ(fold({row("0001-01-01T00:00:00Z", "1"), row("0001-01-01T00:00:00Z", "3")}).latest, "3");
}

TEST(FinalMetrics, TextNanInfinityAndNothing) {
  EXPECT_EQ(
      fold({row("2026-11-15T10:00:00Z", "NaN"), row("2026-11-15T10:00:01Z", "2"), row("2026-11-15T10:00:02Z", "1")}),
      (FinalMetric{"m", "1", "2", "1"}));
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "2"), row("2026-11-15T10:00:01Z", "NaN")}),
            (FinalMetric{"m", "2", "2", "NaN"}));
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "-Inf"), row("2026-11-15T10:00:01Z", "5")}),
            (FinalMetric{"m", "-Inf", "5", "5"}));
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "conv[3x3]")}),
            (FinalMetric{"m", "unavailable", "unavailable", "conv[3x3]"}));
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "5"), row("2026-11-15T10:00:01Z", "")}),
            (FinalMetric{"m", "5", "5", "unavailable"}));
  EXPECT_EQ(fold({row("2026-11-15T10:00:00Z", "1e999")}), (FinalMetric{"m", "unavailable", "unavailable", "1e999"}));
}

TEST(FinalMetrics, OtherNamesAndBadTimes) {
  FinalMetricFold fold("m");
  EXPECT_TRUE(fold.add(row("no time at all", "1", "other")));
  EXPECT_EQ(fold.rows(), 0u);
  EXPECT_FALSE(fold.add(row("yesterday", "1")));
}

TEST(FinalMetrics, CompanionStepsBreakTies) {
  const std::vector<MetricRow> values = {row("t", "a"), row("t", "b"), row("t", "c")};
  EXPECT_EQ(latest_by_step(values, std::vector<MetricRow>{row("t", "1"), row("t", "9"), row("t", "3")}), "b");
  EXPECT_EQ(latest_by_step(values, std::vector<MetricRow>{row("t", "9"), row("t", "9"), row("t", "3")}), "b")
      << "the later one of equal steps";
  EXPECT_EQ(latest_by_step(values, std::vector<MetricRow>{row("t", "9")}), std::nullopt);
  EXPECT_EQ(latest_by_step(values, std::vector<MetricRow>{row("t", "1"), row("t", "x"), row("t", "3")}), std::nullopt);
}

// A store with a row a second, which counts what it is asked and how much it hands out at once.
struct Store {
  std::vector<MetricRow> rows;
  int calls = 0;
  size_t largest = 0;
  GetRows get() {
    return [this](const std::string& metric, const std::string& start, const std::string& end,
                  std::vector<MetricRow>& out) {
      ++calls;
      for (const MetricRow& entry : rows) {
        if (entry.name == metric && (start.empty() || entry.time_stamp >= start) &&
            (end.empty() || entry.time_stamp <= end))
          out.push_back(entry);
      }
      largest = std::max(largest, out.size());
      return RpcStatus{};
    };
  }
};

TEST(TrialRows, OneCallForAShortTraining) {
  Store store;
  store.rows = {row("2026-11-15T10:00:00Z", "1"), row("2026-11-15T10:00:05Z", "3")};
  const Result<FinalMetricFold> fold = fold_rows(store.get(), "m", windows_for(0, 1'000'000, 3'600'000'000));
  ASSERT_TRUE(fold);
  EXPECT_EQ(store.calls, 1);
  EXPECT_EQ(fold->result(), (FinalMetric{"m", "1", "3", "3"}));
}

TEST(TrialRows, WindowsFindWhatLiesOutsideToo) {
  Store store;
  // Before the start, at its second, on a limit of windows, and after the end.
  store.rows = {row("0001-01-01T00:00:00Z", "-7"), row("2026-11-15T10:00:00Z", "1"), row("2026-11-15T10:10:00Z", "2"),
                row("2026-11-16T00:00:00Z", "9"), row("2099-01-01T00:00:00Z", "4")};
  const int64_t start_us = 1'794'736'800'000'000;  // 2026-11-15T10:00:00Z
  const Result<FinalMetricFold> fold =
      fold_rows(store.get(), "m", windows_for(start_us, start_us + 86'400'000'000, 3'600'000'000));
  ASSERT_TRUE(fold);
  EXPECT_EQ(fold->result(), (FinalMetric{"m", "-7", "9", "4"}));
  EXPECT_GT(store.calls, 3);
  EXPECT_LT(store.calls, 20) << "quiet windows grow";
}

TEST(TrialRows, TiesAskForTheSteps) {
  Store store;
  store.rows = {row("2026-11-15T10:00:00Z", "b"), row("2026-11-15T10:00:00Z", "a"),
                row("2026-11-15T10:00:00Z", "20", "m@step"), row("2026-11-15T10:00:00Z", "10", "m@step")};
  const Result<FinalMetricFold> fold = fold_rows(store.get(), "m", {});
  ASSERT_TRUE(fold);
  EXPECT_EQ(fold->result().latest, "b");
}

TEST(TrialRows, AFailedCallIsAnError) {
  const GetRows broken = [](const std::string&, const std::string&, const std::string&, std::vector<MetricRow>&) {
    return RpcStatus{14, "down"};
  };
  const Result<FinalMetricFold> fold = fold_rows(broken, "m", {});
  ASSERT_FALSE(fold);
  EXPECT_NE(fold.error().what.find("UNAVAILABLE"), std::string::npos);
}

}  // namespace
}  // namespace tacho
