#include "report/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/path.h"
#include "base/text.h"
#include "base/writer.h"
#include "report/markdown_text.h"
#include "report/store/facts.h"
#include "report/store/human.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

constexpr auto kMetrics = std::to_array<MetricInfo>({
    {"time", "s", [](const RunFacts& facts) { return facts.duration_s; }},
    {"cpu_mean", "cores", [](const RunFacts& facts) { return facts.cpu_mean; }},
    {"cpu_max", "cores", [](const RunFacts& facts) { return facts.cpu_max; }},
    {"cpu_time", "s", [](const RunFacts& facts) { return facts.cpu_user_s + facts.cpu_system_s; }},
    {"cpu_user", "s", [](const RunFacts& facts) { return facts.cpu_user_s; }},
    {"cpu_system", "s", [](const RunFacts& facts) { return facts.cpu_system_s; }},
    {"memory_peak", "bytes", [](const RunFacts& facts) { return facts.memory_peak_bytes; }},
    {"memory_mean", "bytes", [](const RunFacts& facts) { return facts.memory_mean_bytes; }},
    {"disk_read", "bytes", [](const RunFacts& facts) { return facts.disk_read_bytes; }},
    {"disk_written", "bytes", [](const RunFacts& facts) { return facts.disk_write_bytes; }},
    {"machine_received", "bytes", [](const RunFacts& facts) { return facts.net_recv_bytes; }},
    {"machine_sent", "bytes", [](const RunFacts& facts) { return facts.net_sent_bytes; }},
    {"gpu_mean", "GPUs", [](const RunFacts& facts) { return facts.gpu_mean; }},
    {"gpu_max", "GPUs", [](const RunFacts& facts) { return facts.gpu_max; }},
    {"gpu_memory_peak", "bytes", [](const RunFacts& facts) { return facts.vram_peak_bytes; }},
    {"cores_allowed", "cores", [](const RunFacts& facts) { return facts.cores; }},
    {"memory_allowed", "bytes", [](const RunFacts& facts) { return facts.memory_bytes; }},
});

double change_of(double first, double value) {
  return is_absent(first) || is_absent(value) || first == 0 ? kAbsent : 100 * (value - first) / first;
}

std::string change_text(double percent) {
  if (is_absent(percent) || std::fabs(percent) < 0.5) return "";
  // Beyond a factor of ten a percentage is hard to read.
  if (percent >= 900) return "x" + number_text(1 + percent / 100);
  const long whole = std::lround(percent);
  if (whole == -100 && percent > -100) return "-" + number_text(std::min(99.9, -percent)) + "%";  // something is left
  return (whole > 0 ? "+" : "") + std::to_string(whole) + "%";
}

// A row's title is its name.
std::string title_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
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

std::string job_of(std::span<const StoredRun> runs) {
  for (const StoredRun& stored : runs)
    if (!stored.run.metadata.job_name.empty()) return harmless_text(stored.run.metadata.job_name);
  for (const StoredRun& stored : runs)
    if (!stored.run.command.empty()) return harmless_text(last_part(stored.run.command[0]));
  return "";
}

// No comment ends in the middle of a name.
std::string comment_text(std::string text) {
  for (size_t at = 0; (at = text.find("--", at)) != std::string::npos; ++at) text.insert(at + 1, 1, ' ');
  std::erase_if(text, [](char c) { return c == '<' || c == '>'; });
  return text;
}

}  // namespace

Comparison compare(std::span<const StoredRun> runs) {
  Comparison comparison;
  comparison.job = job_of(runs);
  std::vector<RunFacts> facts;
  for (const StoredRun& stored : runs) {
    facts.push_back(facts_of(stored));
    comparison.runs.push_back(stored.run.id);
    comparison.names.push_back(stored.shown_id());
    comparison.outcomes.push_back(stored.run.mode.empty() ? "-" : outcome_words(stored.run));  // a file tells none
    comparison.commands.push_back(command_text(stored.run, 200));
  }
  for (const MetricInfo& info : kMetrics) {
    ComparedMetric metric{info.name, info.unit, {}, {}};
    bool known = false;
    for (const RunFacts& run : facts) {
      metric.values.push_back(info.value(run));
      metric.change_percent.push_back(change_of(metric.values.front(), metric.values.back()));
      known = known || !is_absent(metric.values.back());
    }
    if (known) comparison.metrics.push_back(std::move(metric));
  }
  return comparison;
}

std::span<const MetricInfo> compared_metrics() { return kMetrics; }

std::string metric_text(std::string_view unit, double value) {
  if (is_absent(value)) return "-";
  if (unit == "bytes") return bytes_text(value);
  return unit == "s" ? duration_text(value) : number_text(value);
}

std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison) {
  std::vector<std::vector<std::string>> cells;
  const auto add = [&](const std::string& title, const std::vector<std::string>& values,
                       const std::vector<std::string>& changes) {
    cells.push_back({title});
    for (size_t i = 0; i < values.size(); ++i) {
      cells.back().push_back(values[i]);
      if (i > 0) cells.back().push_back(changes[i]);
    }
  };
  const std::vector<std::string> none(comparison.names.size());
  add("", comparison.names, std::vector<std::string>(comparison.names.size(), "change"));
  add("outcome", comparison.outcomes, none);
  std::vector<std::string> verdicts;
  for (const Judgement& judgement : comparison.verdicts) verdicts.push_back(verdict_words(judgement));
  if (!verdicts.empty()) add("verdict", verdicts, none);
  for (const ComparedMetric& metric : comparison.metrics) {
    std::vector<std::string> values, changes;
    for (const double value : metric.values) values.push_back(metric_text(metric.unit, value));
    for (const double percent : metric.change_percent) changes.push_back(change_text(percent));
    add(title_of(metric.name), values, changes);
  }
  const auto is_known = [](const std::string& command) { return !command.empty(); };
  if (std::any_of(comparison.commands.begin(), comparison.commands.end(), is_known))
    add("command", comparison.commands, none);
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

std::string comparison_markdown(const Comparison& comparison) {
  std::string out = "<!-- tacho:compare " + comment_text(comparison.job) + " -->\n";
  bool is_header = true;
  for (const auto& row : comparison_cells(comparison)) {
    out += "|";
    for (const std::string& cell : row) out += " " + markdown_text(cell) + (cell.empty() ? "|" : " |");
    out += "\n";
    if (!is_header) continue;
    out += "|---|";
    for (size_t i = 1; i < row.size(); ++i) out += "---:|";
    out += "\n";
    is_header = false;
  }
  for (const std::string& sentence : comparison.failed) out += "\n**Failed:** " + markdown_text(sentence) + "\n";
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  json.key("job").value(comparison.job);
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
  json.key("failed").array();
  for (const std::string& sentence : comparison.failed) json.value(sentence);
  json.end_array();
  json.end_object();
  return std::string(out.view()) + "\n";
}

}  // namespace tacho
