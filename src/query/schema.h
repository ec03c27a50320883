// The tables of `tacho query`, declared once: CREATE TABLE, `--schema`, the rows that are stored and docs/query.md come
// from these lines. Constant data, thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/cells.h"
#include "report/store/facts.h"
#include "report/store/process_lines.h"
#include "report/store/store.h"

namespace tacho {

// Goes up when a table changes: the name of the cache has it, so that versions side by side keep their own.
inline constexpr int kSchemaVersion = 1;

// Everything that is known of a run before its samples are looked at.
struct RunRow {
  std::string name;  // of its folder, which is the run's id
  StoredRun stored;
  RunFacts facts;
  std::vector<ProcessLine> processes;
};

// A table that is kept. A query fills only those that it reads, so each is known by a bit.
struct StoredTable {
  std::string_view name, help;
  uint32_t part;
  std::span<const TableColumn> columns;  // the first is `run`
  bool one_row_a_run;
  void (*put)(const RunRow& run, RowTaker& rows);
};
std::span<const StoredTable> stored_tables();
inline constexpr uint32_t kRunsPart = 1, kColumnsPart = 2, kTagsPart = 4, kPhasesPart = 8, kProcessesPart = 16;

// What runs has besides, told by the run's files when it is asked for: by the SQL functions of these names.
inline constexpr std::string_view kJsonFunction = "tacho_run_json", kVerdictFunction = "tacho_run_verdict";

std::string create_statement(const StoredTable& table);
std::string create_samples_statement();  // of the virtual table
std::string schema_text();               // --schema

}  // namespace tacho
