#include "report/conditions.h"

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "report/compare.h"
#include "report/store/facts.h"

namespace tacho {
namespace {

constexpr const char* kForm = "write --fail-if 'memory_peak > +10%', 'time > 30s' or 'process_cpu_usage.max > 1.5'";

// What a number is of: "s", "bytes", "cores", "GPUs" or "" for a bare one, and how much of that one of it is.
struct Dimension {
  std::string_view unit;
  double scale = 1;
};

struct UnitWord {
  std::string_view word;
  Dimension dimension;
};
constexpr auto kWords = std::to_array<UnitWord>({
    {"b", {"bytes", 1}},        {"bytes", {"bytes", 1}},    {"kib", {"bytes", 0x1p10}}, {"mib", {"bytes", 0x1p20}},
    {"gib", {"bytes", 0x1p30}}, {"tib", {"bytes", 0x1p40}}, {"pib", {"bytes", 0x1p50}}, {"ki", {"bytes", 0x1p10}},
    {"mi", {"bytes", 0x1p20}},  {"gi", {"bytes", 0x1p30}},  {"ti", {"bytes", 0x1p40}},  {"kb", {"bytes", 1e3}},
    {"mb", {"bytes", 1e6}},     {"gb", {"bytes", 1e9}},     {"tb", {"bytes", 1e12}},    {"pb", {"bytes", 1e15}},
    {"ns", {"s", 1e-9}},        {"us", {"s", 1e-6}},        {"ms", {"s", 1e-3}},        {"s", {"s", 1}},
    {"sec", {"s", 1}},          {"m", {"s", 60}},           {"min", {"s", 60}},         {"h", {"s", 3600}},
    {"d", {"s", 86400}},        {"core", {"cores", 1}},     {"cores", {"cores", 1}},    {"cpu", {"cores", 1}},
    {"cpus", {"cores", 1}},     {"gpu", {"GPUs", 1}},       {"gpus", {"GPUs", 1}},
});

// By the ends of the names, as docs/metrics.md has them.
Dimension column_dimension(std::string_view column) {
  struct Ending {
    std::string_view text;
    Dimension dimension;
  };
  constexpr auto kEndings = std::to_array<Ending>({{"_bytes", {"bytes", 1}},
                                                   {"_mib", {"bytes", 0x1p20}},
                                                   {"_gb", {"bytes", 1e9}},
                                                   {"_ms", {"s", 1e-3}},
                                                   {"gpu_usage", {"GPUs", 1}},
                                                   {"cpu_usage", {"cores", 1}},
                                                   {"time", {"s", 1}},
                                                   {"_iowait", {"s", 1}},
                                                   {"_steal", {"s", 1}}});
  for (const Ending& ending : kEndings)
    if (column.ends_with(ending.text)) return ending.dimension;
  return {""};
}

double aggregate_of(const Statistics& statistics, std::string_view name) {
  return name == "mean" ? statistics.mean : name == "max" ? statistics.max : statistics.sum;
}

struct ConditionMetric {
  const MetricInfo* fact = nullptr;
  std::string column, aggregate;  // else
  Dimension dimension;

  double value(const StoredRun& stored) const {
    return fact != nullptr ? fact->value(facts_of(stored)) : aggregate_of(statistics_of(stored, column), aggregate);
  }
};

Error unknown_metric(const std::string& name, std::span<const StoredRun> runs) {
  std::vector<std::string> names;
  for (const MetricInfo& info : compared_metrics()) names.emplace_back(info.name);
  for (const StoredRun& stored : runs)
    for (const auto& [column, statistics] : stored.statistics)
      for (const char* aggregate : {"mean", "max", "sum"})
        if (!is_absent(aggregate_of(statistics, aggregate)) && column != "timestamp")
          names.push_back(column + "." + aggregate);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(name, candidates);
  return {Code::invalid, "no run has this metric", name,
          near.empty() ? "time, cpu_mean, memory_peak … as in tacho compare A B --json, or COLUMN.mean, .max or .sum"
                       : "did you mean " + std::string(near) + "?"};
}

Result<ConditionMetric> find_metric(const std::string& name, std::span<const StoredRun> runs) {
  for (const MetricInfo& info : compared_metrics())
    if (info.name == name) return ConditionMetric{&info, "", "", {info.unit}};
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return unknown_metric(name, runs);
  ConditionMetric metric{nullptr, name.substr(0, dot), name.substr(dot + 1), {}};
  metric.dimension = column_dimension(metric.column);
  const bool is_aggregate = metric.aggregate == "mean" || metric.aggregate == "max" || metric.aggregate == "sum";
  bool known = false;
  for (const StoredRun& stored : runs)
    for (const auto& [column, statistics] : stored.statistics) known = known || column == metric.column;
  if (!is_aggregate || !known || metric.column == "timestamp") return unknown_metric(name, runs);
  return metric;
}

// What the condition compares with, in the metric's own unit.
Result<double> threshold_of(const Condition& condition, const ConditionMetric& metric, double first) {
  if (condition.relative) return first * (1 + condition.number / 100);
  if (condition.unit.empty()) return condition.number;
  for (const UnitWord& word : kWords) {
    if (word.word != lower(condition.unit)) continue;
    if (word.dimension.unit != metric.dimension.unit) break;
    return condition.number * word.dimension.scale / metric.dimension.scale;
  }
  const std::string_view unit = metric.dimension.unit;
  return Error{Code::invalid, "the unit " + condition.unit + " does not fit " + condition.metric, condition.text,
               unit == "s"       ? "a time: 30s, 5m"
               : unit == "bytes" ? "a size: 500MiB, 2GiB"
               : unit.empty()    ? "a number without a unit"
                                 : "a number: 1.5"};
}

bool compares(double value, Condition::Operator op, double threshold) {
  switch (op) {
    case Condition::Operator::greater: return value > threshold;
    case Condition::Operator::less: return value < threshold;
    case Condition::Operator::at_least: return value >= threshold;
    case Condition::Operator::at_most: break;
  }
  return value <= threshold;
}

Error bad_condition(std::string_view text) { return {Code::invalid, "not a condition", std::string(text), kForm}; }

}  // namespace

Result<Condition> parse_condition(std::string_view text) {
  Condition condition;
  condition.text = trim(text);
  const size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos) return bad_condition(text);
  condition.metric = trim(text.substr(0, at));
  const bool equal = at + 1 < text.size() && text[at + 1] == '=';
  using enum Condition::Operator;
  condition.op = text[at] == '>' ? (equal ? at_least : greater) : (equal ? at_most : less);
  std::string_view value = trim(text.substr(at + (equal ? 2 : 1)));
  const bool is_signed = value.starts_with('+') || value.starts_with('-');
  const double sign = value.starts_with('-') ? -1 : 1;
  if (is_signed) value.remove_prefix(1);
  const size_t digits = std::min(value.find_first_not_of("0123456789."), value.size());
  const auto number = parse_double(value.substr(0, digits));
  condition.unit = trim(value.substr(digits));
  if (condition.metric.empty() || !number) return bad_condition(text);
  condition.relative = condition.unit == "%";
  if (condition.relative != is_signed)
    return Error{Code::invalid, condition.relative ? "a change needs its sign" : "a sign needs a percentage",
                 condition.text, "write +10% or -5% for a change against the first run, 2GiB or 30s for an amount"};
  if (condition.relative) condition.unit.clear();
  condition.number = sign * *number;
  return condition;
}

Result<std::vector<std::string>> holding(const Condition& condition, std::span<const StoredRun> runs) {
  const auto metric = find_metric(condition.metric, runs);
  if (!metric) return metric.error();
  const auto text_of = [&](double value) {
    return metric_text(metric->dimension.unit, value * metric->dimension.scale);
  };
  const auto missing = [&](const StoredRun& stored) {
    return Error{Code::invalid, condition.metric + " is not known of a run", stored.shown_id(),
                 "tacho show " + stored.shown_id() + " --json has what was measured"};
  };
  const double first = metric->value(runs.front());
  if (condition.relative && is_absent(first)) return missing(runs.front());
  const auto threshold = threshold_of(condition, *metric, first);
  if (!threshold) return threshold.error();
  std::vector<std::string> sentences;
  for (const StoredRun& stored : runs.subspan(1)) {
    const double value = metric->value(stored);
    if (is_absent(value)) return missing(stored);
    if (!compares(value, condition.op, *threshold)) continue;
    sentences.push_back(condition.text + " holds for " + stored.shown_id() + ": " + text_of(value) +
                        (is_absent(first) ? "" : ", the first run had " + text_of(first)));
  }
  return sentences;
}

}  // namespace tacho
