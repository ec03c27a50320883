// Two or more runs side by side: what a person asks of each, and how the others differ from the first. Pure.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "report/store/store.h"
#include "report/verdict/verdict.h"

namespace tacho {

struct ComparedMetric {
  std::string name, unit;              // "memory_peak", "bytes"
  std::vector<double> values;          // one a run; kAbsent: unknown
  std::vector<double> change_percent;  // from the first run; kAbsent where either is unknown or the first is 0
};

struct Comparison {
  std::string job;                                           // what the runs are of: a job name, else a program's name
  std::vector<std::string> runs, names, outcomes, commands;  // names: the ids as people see them
  std::vector<Judgement> verdicts;                           // one a run, where they were judged
  std::vector<ComparedMetric> metrics;                       // those that at least one run has
  std::vector<std::string> failed;                           // conditions of --fail-if that hold, as sentences
};

Comparison compare(std::span<const StoredRun> runs);

// Every metric by its name, also one that no run has. A run's value; nullptr: there is no metric of that name.
struct RunFacts;
struct MetricInfo {
  const char *name, *unit;
  double (*value)(const RunFacts& facts);
};
std::span<const MetricInfo> compared_metrics();
std::string metric_text(std::string_view unit, double value);  // "9.8 GiB", "-" when it is unknown

// Cells for a table, the header first: a title, the first run, and of each other its value and the change.
std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison);
// "verdict changed from disk latency to cpu (saturated)", a line for each run that differs from the first; empty: none.
std::string verdict_changes(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);
// For a comment in a review; its first line is a mark by which the comment is found again.
std::string comparison_markdown(const Comparison& comparison);

}  // namespace tacho
