#include "report/store/input.h"

#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "codec/run_json.h"
#include "os/file.h"
#include "report/store/group.h"
#include "report/store/leaps.h"

namespace tacho {
namespace {

Result<Input> read_file(const std::string& path) {
  CsvReader reader;
  if (const Status status = reader.open(path); !status) return status.error();
  Input input{{}, path};
  StoredRun& stored = input.stored;
  stored.run.id = last_part(path);
  Summary summary;
  summary.begin(reader.schema());
  each_row(reader, stored.run, [&](const Row& row) { summary.add(row); });
  if (std::string note = left_out_note(reader.skipped(), stored.run.id); !note.empty())
    stored.run.notes.push_back(std::move(note));
  stored.rows = summary.rows();
  stored.run.outcome.duration_ns = as_ns(summary.duration_s());
  stored.run.outcome.state = RunState::finished;
  for (size_t i = 0; i < reader.columns().size(); ++i) {
    Statistics values = summary.column(i);
    if (i > 0 && !is_per_interval(reader.columns()[i])) values.sum = kAbsent;
    if (values.rows > 0) stored.statistics.emplace_back(reader.columns()[i], values);
  }
  Writer json;
  write_run_json(json, stored.run, summary);
  stored.json = json.view();
  return input;
}

}  // namespace

std::string left_out_note(int64_t lines, std::string_view file) {
  if (lines <= 0) return {};
  const std::string name = harmless_text(file);
  return lines == 1 ? "A damaged line of " + name + " was left out."
                    : std::to_string(lines) + " damaged lines of " + name + " were left out.";
}

bool is_metrics_file(const std::string& name) {
  return (name.ends_with(".csv") || name.ends_with(".csv.gz")) && file_exists(name);
}

void each_row(CsvReader& reader, const Run& run, const std::function<void(const Row&)>& take) {
  if (run.outcome.started_realtime_ns > 0) reader.set_start(seconds_by_ms(run.outcome.started_realtime_ns));
  Row row, held;
  while (reader.next(row)) {
    if (row.index == 0 && row.interval_ns == 0) {
      held = row;  // how long it took is guessed from the next one
      continue;
    }
    if (!held.cells.empty()) {
      held.interval_ns = run.interval_ns > 0 ? run.interval_ns : row.interval_ns;
      take(held);
      held.cells.clear();
    }
    take(row);
  }
  if (held.cells.empty()) return;
  held.interval_ns = run.interval_ns > 0 ? run.interval_ns : kNsPerSec;
  take(held);
}

void each_timed_row(CsvReader& reader, const Input& input, const std::function<void(const Row&)>& take) {
  const StoredRun& stored = input.stored;
  const bool is_single = input.members.empty() && stored.rows > 0;
  const Leaps leaps(is_single ? input.rows_path : "", stored.run, stored.rows);
  Row timed;
  each_row(reader, stored.run, [&](const Row& row) {
    timed = row;
    leaps.take_from(timed);
    take(timed);
  });
}

Input stored_input(StoredRun stored) {
  Input input{std::move(stored), ""};
  input.rows_path = input.stored.folder + "/metrics.csv";
  return input;
}

Result<Input> read_input(const std::string& store_dir, const std::string& name) {
  if (is_metrics_file(name)) return read_file(name);
  if (is_group_form(name)) {
    auto members = group_members(store_dir, name);
    if (!members) return members.error();
    if (!members->empty()) return group_input(std::move(*members));
  }
  auto stored = find_run(store_dir, name);
  if (!stored) return stored.error();
  return stored_input(std::move(*stored));
}

Result<std::vector<Input>> read_inputs(const std::string& store_dir, const std::vector<std::string>& names) {
  std::vector<Input> inputs;
  for (const std::string& name : names) {
    auto input = read_input(store_dir, name);
    if (!input) return input.error();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

}  // namespace tacho
