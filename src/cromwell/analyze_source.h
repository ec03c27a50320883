// Where the rows of a table come from: files that BigQuery exported, newline-delimited JSON, plain or gzip. A line that
// cannot be used is counted and named by its number; it ends nothing. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cromwell/analyze_cell.h"

namespace tacho {

// Who takes the rows of a table.
struct TableSink {
  CellTarget* cells = nullptr;
  std::function<void()> begin_row;
  std::function<std::string()> end_row;  // why the row cannot be used; empty: it was
};

// What became of a table's rows.
struct TableCount {
  static constexpr size_t kMostFaults = 5;
  uint64_t rows = 0, bad = 0;
  std::vector<std::string> faults;  // the first of them: "metrics.json: line 7: …"

  void fault(std::string text) {
    ++bad;
    if (faults.size() < kMostFaults) faults.push_back(std::move(text));
  }
};

// The files that a name with * stands for (a large export has several), sorted; otherwise the name itself.
std::vector<std::string> files_named(const std::string& name);

// `table` is what messages call it. An error: the file cannot be read, or is no such export at all; what was read
// before counts.
Status read_export(const std::string& path, const std::string& table, const TableSink& sink, TableCount& count);

}  // namespace tacho
