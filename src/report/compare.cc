#include "report/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/writer.h"
#include "report/facts.h"
#include "report/human.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

struct Fact {
  const char *name, *unit, *title;
  double RunFacts::*value;
};
constexpr auto kFacts = std::to_array<Fact>({
    {"duration_s", "s", "time", &RunFacts::duration_s},
    {"cpu_mean_cores", "cores", "cpu on average", &RunFacts::cpu_mean},
    {"cpu_max_cores", "cores", "cpu at most", &RunFacts::cpu_max},
    {"cpu_user_s", "s", "cpu time, user", &RunFacts::cpu_user_s},
    {"cpu_system_s", "s", "cpu time, system", &RunFacts::cpu_system_s},
    {"memory_peak_bytes", "bytes", "memory peak", &RunFacts::memory_peak_bytes},
    {"memory_mean_bytes", "bytes", "memory on average", &RunFacts::memory_mean_bytes},
    {"disk_read_bytes", "bytes", "disk read", &RunFacts::disk_read_bytes},
    {"disk_write_bytes", "bytes", "disk written", &RunFacts::disk_write_bytes},
    {"net_recv_bytes", "bytes", "machine received", &RunFacts::net_recv_bytes},
    {"net_sent_bytes", "bytes", "machine sent", &RunFacts::net_sent_bytes},
    {"gpu_mean", "GPUs", "gpu on average", &RunFacts::gpu_mean},
    {"gpu_max", "GPUs", "gpu at most", &RunFacts::gpu_max},
    {"vram_peak_bytes", "bytes", "gpu memory peak", &RunFacts::vram_peak_bytes},
    {"cores", "cores", "cores it may use", &RunFacts::cores},
    {"memory_bytes", "bytes", "memory it may use", &RunFacts::memory_bytes},
});

double change_of(double first, double value) {
  return is_absent(first) || is_absent(value) || first == 0 ? kAbsent : 100 * (value - first) / first;
}

std::string value_text(const ComparedMetric& metric, double value) {
  if (is_absent(value)) return "-";
  if (metric.unit == "bytes") return bytes_text(value);
  return metric.unit == "s" ? duration_text(value) : number_text(value);
}

std::string change_text(double percent) {
  if (is_absent(percent) || std::fabs(percent) < 0.5) return "";
  // Beyond a factor of ten a percentage is hard to read.
  if (percent >= 900) return " x" + number_text(1 + percent / 100);
  const long whole = std::lround(percent);
  return (whole > 0 ? " +" : " ") + std::to_string(whole) + "%";
}

std::string_view title_of(const std::string& name) {
  for (const Fact& fact : kFacts)
    if (fact.name == name) return fact.title;
  return name;
}

void write_verdicts(JsonWriter& json, const Comparison& comparison) {
  json.key("verdict").array();
  for (const Judgement& judgement : comparison.verdicts) {
    json.object().key("verdict").value(judgement.verdict).key("detail");
    judgement.detail.empty() ? json.null() : json.value(judgement.detail);
    json.key("confidence").value(confidence_word(judgement.confidence));
    json.key("share").number(judgement.share, 6).end_object();
  }
  json.end_array();
}

}  // namespace

Comparison compare(std::span<const StoredRun> runs) {
  Comparison comparison;
  std::vector<RunFacts> facts;
  for (const StoredRun& stored : runs) {
    facts.push_back(facts_of(stored));
    comparison.runs.push_back(stored.run.id);
    comparison.names.push_back(stored.shown_id());
    comparison.outcomes.push_back(stored.run.mode.empty() ? "-" : outcome_words(stored.run));  // a file tells none
    comparison.commands.push_back(command_text(stored.run, 200));
  }
  for (const Fact& fact : kFacts) {
    ComparedMetric metric{fact.name, fact.unit, {}, {}};
    bool known = false;
    for (const RunFacts& run : facts) {
      metric.values.push_back(run.*fact.value);
      metric.change_percent.push_back(change_of(metric.values.front(), metric.values.back()));
      known = known || !is_absent(metric.values.back());
    }
    if (known) comparison.metrics.push_back(std::move(metric));
  }
  return comparison;
}

std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison) {
  std::vector<std::vector<std::string>> cells;
  const auto add = [&](std::string title, const std::vector<std::string>& values) {
    cells.push_back({std::move(title)});
    cells.back().insert(cells.back().end(), values.begin(), values.end());
  };
  add("", comparison.names);
  add("outcome", comparison.outcomes);
  std::vector<std::string> verdicts;
  for (const Judgement& judgement : comparison.verdicts) verdicts.push_back(verdict_words(judgement));
  if (!verdicts.empty()) add("verdict", verdicts);
  for (const ComparedMetric& metric : comparison.metrics) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < metric.values.size(); ++i)
      texts.push_back(value_text(metric, metric.values[i]) + change_text(metric.change_percent[i]));
    add(std::string(title_of(metric.name)), texts);
  }
  const auto is_known = [](const std::string& command) { return !command.empty(); };
  if (std::any_of(comparison.commands.begin(), comparison.commands.end(), is_known))
    add("command", comparison.commands);
  return cells;
}

std::string verdict_changes(const Comparison& comparison) {
  std::string text;
  for (size_t i = 1; i < comparison.verdicts.size(); ++i) {
    const std::string before = verdict_words(comparison.verdicts[0]), now = verdict_words(comparison.verdicts[i]);
    if (before == now) continue;
    if (comparison.verdicts.size() > 2) text += comparison.names[i] + ": ";
    text += "verdict changed from " + before + " to " + now + "\n";
  }
  return text;
}

std::string comparison_json(const Comparison& comparison) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  json.key("runs").array();
  for (size_t i = 0; i < comparison.runs.size(); ++i) {
    json.object();
    json.key("id").value(comparison.runs[i]);
    json.key("outcome").value(comparison.outcomes[i]);
    if (!comparison.commands[i].empty()) json.key("command").value(comparison.commands[i]);
    if (i < comparison.verdicts.size()) json.key("verdict").value(comparison.verdicts[i].verdict);
    json.end_object();
  }
  json.end_array();
  if (!comparison.verdicts.empty()) write_verdicts(json, comparison);
  json.key("metrics").array();
  for (const ComparedMetric& metric : comparison.metrics) {
    const int decimals = metric.unit == "bytes" ? 0 : 4;
    json.object();
    json.key("name").value(metric.name);
    json.key("unit").value(metric.unit);
    json.key("values").array();
    for (const double value : metric.values) json.number(value, decimals);
    json.end_array();
    json.key("change_percent").array();
    for (const double value : metric.change_percent) json.number(value, 2);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::string(out.view()) + "\n";
}

}  // namespace tacho
