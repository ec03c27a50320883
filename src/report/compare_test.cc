#include "report/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tacho {
namespace {

StoredRun compared_run(const std::string& id, double duration_s, std::optional<int64_t> memory_bytes) {
  StoredRun stored;
  stored.run.id = id;
  stored.run.mode = "run";
  stored.run.command = {"make"};
  stored.run.outcome.state = RunState::finished;
  stored.run.outcome.duration_ns = static_cast<int64_t>(duration_s * 1e9);
  stored.run.totals.memory_peak_bytes = memory_bytes;
  return stored;
}

const ComparedMetric* metric_of(const Comparison& comparison, std::string_view name) {
  for (const ComparedMetric& metric : comparison.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

TEST(Compare, DiffersFromTheFirst) {
  const std::vector<StoredRun> runs{compared_run("a", 10, 100), compared_run("b", 15, std::nullopt),
                                    compared_run("c", 5, 200)};
  const Comparison comparison = compare(runs);
  const ComparedMetric* time = metric_of(comparison, "duration_s");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->values, (std::vector<double>{10, 15, 5}));
  EXPECT_EQ(time->change_percent, (std::vector<double>{0, 50, -50}));
  const ComparedMetric* memory = metric_of(comparison, "memory_peak_bytes");
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(is_absent(memory->values[1]));
  EXPECT_TRUE(is_absent(memory->change_percent[1]));
  EXPECT_EQ(memory->change_percent[2], 100);
  EXPECT_EQ(metric_of(comparison, "gpu_mean"), nullptr);  // nobody has one
}

TEST(Compare, CellsNameTheChange) {
  const std::vector<StoredRun> runs{compared_run("a", 10, 100), compared_run("b", 15, std::nullopt),
                                    compared_run("c", 200, 0)};
  const auto cells = comparison_cells(compare(runs));
  EXPECT_EQ(cells[0], (std::vector<std::string>{"", "a", "b", "c"}));
  EXPECT_EQ(cells[1], (std::vector<std::string>{"outcome", "ok", "ok", "ok"}));
  EXPECT_EQ(cells[2], (std::vector<std::string>{"time", "10s", "15s +50%", "3m20s x20"}));
  EXPECT_EQ(cells[3], (std::vector<std::string>{"memory peak", "100 B", "-", "0 B -100%"}));
}

TEST(Compare, JsonHasNullForWhatIsUnknown) {
  const std::vector<StoredRun> runs{compared_run("a", 10, std::nullopt), compared_run("b", 15, 7)};
  const auto json = nlohmann::json::parse(comparison_json(compare(runs)));
  EXPECT_EQ(json["runs"][1]["id"], "b");
  for (const auto& metric : json["metrics"])
    if (metric["name"] == "memory_peak_bytes") {
      EXPECT_TRUE(metric["values"][0].is_null());
      EXPECT_EQ(metric["values"][1], 7);
      EXPECT_TRUE(metric["change_percent"][1].is_null());
    }
}

}  // namespace
}  // namespace tacho
