#include "report/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/conditions.h"

namespace tacho {
namespace {

StoredRun compared_run(const std::string& id, double duration_s, std::optional<int64_t> memory_bytes) {
  StoredRun stored;
  stored.run.id = id;
  stored.run.mode = "run";
  stored.run.command = {"/usr/bin/make"};
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
  const ComparedMetric* time = metric_of(comparison, "time");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->values, (std::vector<double>{10, 15, 5}));
  EXPECT_EQ(time->change_percent, (std::vector<double>{0, 50, -50}));
  const ComparedMetric* memory = metric_of(comparison, "memory_peak");
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
  EXPECT_EQ(cells[0], (std::vector<std::string>{"", "a", "b", "change", "c", "change"}));
  EXPECT_EQ(cells[1], (std::vector<std::string>{"outcome", "ok", "ok", "", "ok", ""}));
  EXPECT_EQ(cells[2], (std::vector<std::string>{"time", "10s", "15s", "+50%", "3m20s", "x20"}));
  EXPECT_EQ(cells[3], (std::vector<std::string>{"memory peak", "100 B", "-", "", "0 B", "-100%"}));
}

TEST(Compare, AllButNothingIsNotNothing) {
  const std::vector<StoredRun> runs{compared_run("a", 100, 100), compared_run("b", 0.4, std::nullopt),
                                    compared_run("c", 0.01, 0)};
  const auto cells = comparison_cells(compare(runs));
  EXPECT_EQ(cells[2], (std::vector<std::string>{"time", "1m40s", "400ms", "-99.6%", "10ms", "-99.9%"}));
  EXPECT_EQ(cells[3].back(), "-100%");
}

TEST(Compare, JsonHasNullForWhatIsUnknown) {
  const std::vector<StoredRun> runs{compared_run("a", 10, std::nullopt), compared_run("b", 15, 7)};
  const auto json = nlohmann::json::parse(comparison_json(compare(runs)));
  EXPECT_EQ(json["runs"][1]["id"], "b");
  bool found = false;
  for (const auto& metric : json["metrics"])
    if (metric["name"] == "memory_peak") {
      found = true;
      EXPECT_TRUE(metric["values"][0].is_null());
      EXPECT_EQ(metric["values"][1], 7);
      EXPECT_TRUE(metric["change_percent"][1].is_null());
    }
  EXPECT_TRUE(found);
}

TEST(Compare, MarkdownBeginsWithItsMarkAndHoldsNoMarkupOfTheJobs) {
  std::vector<StoredRun> runs{compared_run("a", 10, 100), compared_run("b", 15, 200)};
  EXPECT_TRUE(comparison_markdown(compare(runs)).starts_with("<!-- tacho:compare make -->\n| | a | b | change |\n"));
  runs[0].run.metadata.job_name = "train --> <img src=x>\n|x|";
  runs[1].run.command = {"sh", "-c", "a | b `c` <d>\n\n# e"};
  const std::string text = comparison_markdown(compare(runs));
  EXPECT_TRUE(text.starts_with("<!-- tacho:compare train - - img src=x |x| -->\n")) << text;
  for (const char* bad : {"<img", "<d>", "`c`", "\n#"}) EXPECT_EQ(text.find(bad), std::string::npos) << bad << text;
  EXPECT_NE(text.find("| time | 10s | 15s | +50% |\n"), std::string::npos) << text;
  const size_t bars = static_cast<size_t>(std::count(text.begin(), text.end(), '|'));
  const size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(bars, 1 + (lines - 1) * 5 + 1) << text;  // two more in the mark
}

// Errors are "125", else how many runs it holds for.
std::string asked(std::string_view text, std::span<const StoredRun> runs) {
  const auto condition = parse_condition(text);
  if (!condition) return "125";
  const auto sentences = holding(*condition, runs);
  return sentences ? std::to_string(sentences->size()) : "125";
}

TEST(Conditions, HoldOrNotOrCannotBeAsked) {
  std::vector<StoredRun> runs{compared_run("a", 10, 1 << 30), compared_run("b", 11, 3 << 29),
                              compared_run("c", 20, 1 << 30)};
  for (StoredRun& stored : runs) {
    stored.statistics = {{"process_cpu_usage", {1.2, 1.6, 0, kAbsent, kAbsent, 5}},
                         {"process_memory_mib", {500, 1024, 0, kAbsent, kAbsent, 5}},
                         {"process_disk_read_bytes", {1, 2, 0, 4096, kAbsent, 5}},
                         {"timestamp", {kAbsent, kAbsent, kAbsent, 10, kAbsent, 5}}};
  }
  const std::vector<std::pair<const char*, const char*>> rows{
      {"time > +10%", "1"},
      {"time>=+10%", "2"},
      {" time  >+9.5% ", "2"},
      {"time < -5%", "0"},
      {"time > -5%", "2"},
      {"time > 15s", "1"},
      {"time > 15", "1"},
      {"time > 0.2m", "1"},
      {"time > 10500ms", "2"},
      {"time <= 11s", "1"},
      {"memory_peak > +10%", "1"},
      {"memory_peak > 1.2GiB", "1"},
      {"memory_peak>1200 MiB", "1"},
      {"memory_peak > 1.2 gib", "1"},
      {"memory_peak > 1000000000", "2"},
      {"cpu_mean > 1", "2"},
      {"cpu_mean > 1.5cores", "0"},
      {"process_cpu_usage.max > 1.5", "2"},
      {"process_cpu_usage.max > 2", "0"},
      {"process_memory_mib.max > 1000", "2"},
      {"process_memory_mib.max > 2GiB", "0"},
      {"process_memory_mib.mean < 1GiB", "2"},
      {"process_disk_read_bytes.sum >= 4KiB", "2"},
      {"memory_peak > +0%", "1"},
      // A unit that does not fit, a metric that is absent or misspelt, a form that is none.
      {"time > 2GiB", "125"},
      {"memory_peak > 30s", "125"},
      {"cpu_mean > 1GiB", "125"},
      {"time > 5parsecs", "125"},
      {"process_cpu_usage.max > 3s", "125"},
      {"gpu_mean > 0", "125"},
      {"gpu_memory_peak > +1%", "125"},
      {"cpu_time > 1s", "125"},
      {"tiem > 3s", "125"},
      {"process_cpu_usage > 1", "125"},
      {"process_cpu_usage.median > 1", "125"},
      {"process_memory_mib.sum > 1", "125"},
      {"nosuch.max > 1", "125"},
      {"timestamp.sum > 1", "125"},
      {"time > 10%", "125"},
      {"time > +10", "125"},
      {"time > -5", "125"},
      {"time == 3s", "125"},
      {"time >> 3s", "125"},
      {"time", "125"},
      {"", "125"},
      {"> 3s", "125"},
      {"time >", "125"},
      {"time > nan", "125"},
      {"time > +-5%", "125"},
      {"time > 1e400", "125"}};
  for (const auto& [text, wanted] : rows) EXPECT_EQ(asked(text, runs), wanted) << text;
  const auto misspelt = holding(*parse_condition("memory_paek > 1GiB"), runs);
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().message().find("memory_peak"), std::string::npos);
  const auto sentences = holding(*parse_condition("memory_peak > +10%"), runs);
  EXPECT_EQ(*sentences, std::vector<std::string>{"memory_peak > +10% holds for b: 1.5 GiB, the first run had 1 GiB"});
}

TEST(Conditions, AnAmountDoesNotNeedTheFirstRun) {
  const std::vector<StoredRun> runs{compared_run("a", 10, std::nullopt), compared_run("b", 11, 100)};
  EXPECT_EQ(asked("memory_peak > 50B", runs), "1");
  EXPECT_EQ(asked("memory_peak > +10%", runs), "125");
  const std::vector<StoredRun> other{compared_run("a", 10, 100), compared_run("b", 11, std::nullopt)};
  EXPECT_EQ(asked("memory_peak > 50B", other), "125");
}

}  // namespace
}  // namespace tacho
