// What show, report, compare, advise and top are given: a run of the store or a metrics file, and its rows one by one.
// Thread-safe (no state).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"
#include "report/store/csv_reader.h"
#include "report/store/store.h"

namespace tacho {

struct Input {
  StoredRun stored;       // of a file: its name as id, and the statistics of its rows
  std::string rows_path;  // metrics.csv, or the file itself
  // Of a group of two or more: its runs by their start, and what keeps its rows, which are in no file.
  std::vector<StoredRun> members = {};
  std::shared_ptr<const Fd> made_rows = {};
};

// A metrics file that ends in .csv or .csv.gz, a group (report/store/group.h), or a run as find_run() takes it.
Result<Input> read_input(const std::string& store_dir, const std::string& name);
Result<std::vector<Input>> read_inputs(const std::string& store_dir, const std::vector<std::string>& names);

Input stored_input(StoredRun stored);

// Whether it names a metrics file rather than a run.
bool is_metrics_file(const std::string& name);

// "2 damaged lines of metrics.csv were left out."; nothing of none.
std::string left_out_note(int64_t lines, std::string_view file);

// Every row of an open file. How long the first one took is told by the run's start or interval, else by the row after
// it.
void each_row(CsvReader& reader, const Run& run, const std::function<void(const Row&)>& take);
// The same with the time that passed in each (report/store/leaps.h): what is weighed by time must not be weighed by
// that of a suspended machine.
void each_timed_row(CsvReader& reader, const Input& input, const std::function<void(const Row&)>& take);

}  // namespace tacho
