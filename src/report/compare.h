// Two or more runs side by side: what a person asks of each, and how the others differ from the first. Pure.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "report/store.h"
#include "report/verdict.h"

namespace tacho {

struct ComparedMetric {
  std::string name, unit;              // "memory_peak_bytes", "bytes"
  std::vector<double> values;          // one a run; kAbsent: unknown
  std::vector<double> change_percent;  // from the first run; kAbsent where either is unknown or the first is 0
};

struct Comparison {
  std::vector<std::string> runs, names, outcomes, commands;  // names: the ids as people see them
  std::vector<Judgement> verdicts;                           // one a run, where they were judged
  std::vector<ComparedMetric> metrics;                       // those that at least one run has
};

Comparison compare(std::span<const StoredRun> runs);

// Cells for a table, the header first: "9.8 GiB", "12 GiB +22%".
std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison);
// "verdict changed from disk latency to cpu (saturated)", a line for each run that differs from the first; empty: none.
std::string verdict_changes(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);

}  // namespace tacho
