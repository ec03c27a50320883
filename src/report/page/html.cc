#include "report/page/html.h"

#include <algorithm>
#include <cmath>

#include "base/path.h"
#include "base/units.h"
#include "os/file.h"
#include "os/line_file.h"
#include "report/page/html_charts.h"
#include "report/store/csv_reader.h"
#include "report/store/input.h"
#include "report/store/phases.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr size_t kDevicePoints = 600, kBandPoints = 600;

// Charts and download from the rows, and with `statistics` those too.
Status read_rows(const std::string& path, ReportRun& report, size_t points, bool statistics) {
  CsvReader reader;
  PageRows& kept = *report.rows;
  reader.tee([&](std::string_view bytes) { kept.take(bytes); });
  if (const Status status = reader.open(path); !status) return status;
  Summary summary;
  if (statistics) summary.begin(reader.schema());
  report.series.begin(reader.schema(), charted_columns(), points);
  Run& run = report.stored.run;
  RunVerdict verdict(reader.schema(), run);
  report.band.begin(kBandPoints);
  double duration_s = 0;
  int64_t rows = 0;
  each_row(reader, run, [&](const Row& row) {
    if (rows++ == 0) report.start_s = as_seconds(row.realtime_ns - row.interval_ns);
    const double seconds = as_seconds(row.interval_ns);
    duration_s += seconds;
    const auto found = verdict.add(row);
    report.band.add(found ? limit_word(found->limit) : std::string_view(), seconds);
    report.series.add(row);
    if (statistics) summary.add(row);
    kept.add(reader.line_of(row));
  });
  kept.finish(reader.is_at_end());
  report.verdict = verdict.verdict(run);
  if (const std::string note = left_out_note(reader.skipped(), last_part(path)); !note.empty())
    run.notes.push_back(note);
  if (rows > 0) report.duration_s = duration_s;
  if (!statistics) return ok();
  report.stored.rows = rows;
  for (size_t i = 1; i < reader.columns().size(); ++i) {
    Statistics values = summary.column(i);
    if (!is_per_interval(reader.columns()[i])) values.sum = kAbsent;
    if (values.rows > 0) report.stored.statistics.emplace_back(reader.columns()[i], values);
  }
  return ok();
}

Result<ReportRun> read_metrics(const std::string& path, size_t number, const PageOptions& options) {
  ReportRun report;
  report.title = report.file_name = last_part(path);
  if (report.file_name.ends_with(".gz")) report.file_name.resize(report.file_name.size() - 3);
  report.stored.run.id = report.title;
  report.rows = page_rows_for(number);
  if (const Status status = read_rows(path, report, options.max_points, true); !status) return status.error();
  return report;
}

Result<ReportRun> read_stored_run(StoredRun stored, size_t number, const PageOptions& options) {
  ReportRun report;
  report.stored = std::move(stored);
  Run& run = report.stored.run;
  const std::string& folder = report.stored.folder;
  report.title = run.id;
  report.file_name = "metrics.csv";
  report.rows = page_rows_for(number);
  if (run.outcome.started_realtime_ns > 0) report.start_s = as_seconds(run.outcome.started_realtime_ns);
  const Marks marks = look_at_marks(folder);
  // Nobody has told the phases of a run that goes on.
  if (run.phases.empty()) run.phases = phases_of(marks, is_absent(report.start_s) ? 0 : report.start_s, INFINITY);
  std::stable_sort(run.phases.begin(), run.phases.end(),
                   [](const Phase& a, const Phase& b) { return a.started_s < b.started_s; });
  // A run without readable rows still has its outcome and statistics to show.
  const Status rows = read_rows(folder + "/metrics.csv", report, options.max_points, false);
  if (!rows) report.stored.run.notes.push_back("There are no charts: " + rows.error().message());
  if (is_absent(report.duration_s)) report.duration_s = statistics_of(report.stored, "timestamp").sum;
  const double end_s = report.start_s + (is_absent(report.duration_s) ? 0 : report.duration_s);
  report.devices = read_page_devices(folder + "/devices.csv", run, std::min(options.max_points, kDevicePoints));
  for (Phase& phase : run.phases)
    if (!std::isfinite(phase.ended_s)) phase.ended_s = std::max(end_s, phase.started_s);
  report.marks = page_marks(run, marks, report.verdict.phases);
  report.processes = read_page_processes(folder + "/processes.csv");
  if (const std::string note = left_out_note(report.processes.skipped, "processes.csv"); !note.empty())
    report.stored.run.notes.push_back(note);
  report.advice = page_advice({report.stored, folder + "/metrics.csv"});
  return report;
}

// Marks, devices and processes are of its runs, each of which has a page of its own.
Result<ReportRun> read_group(Input input, size_t number, const PageOptions& options) {
  ReportRun report;
  report.advice = page_advice(input);
  report.stored = std::move(input.stored);
  report.title = report.stored.run.id;
  report.file_name = "metrics.csv";
  report.rows = page_rows_for(number);
  report.start_s = as_seconds(report.stored.run.outcome.started_realtime_ns);
  const Status rows = read_rows(input.rows_path, report, options.max_points, false);
  if (!rows) report.stored.run.notes.push_back("There are no charts: " + rows.error().message());
  return report;
}

Result<ReportRun> read_report(const std::string& input, const std::string& store_dir, size_t number,
                              const PageOptions& options) {
  if (is_metrics_file(input)) return read_metrics(input, number, options);
  auto read = read_input(store_dir, input);
  if (!read) return read.error();
  if (!read->members.empty()) return read_group(std::move(*read), number, options);
  return read_stored_run(std::move(read->stored), number, options);
}

}  // namespace

Status write_html_report(std::span<const std::string> inputs, const std::string& store_dir, const std::string& output,
                         const PageOptions& options) {
  if (inputs.empty())
    return Error{Code::invalid, "a report needs a run or a file", "", "for instance: tacho report last"};
  std::vector<ReportRun> runs;
  for (const std::string& input : inputs) {
    auto report = read_report(input, store_dir, runs.size(), options);
    if (!report) return report.error();
    runs.push_back(std::move(*report));
  }
  const std::string page = html_page(runs, options);
  constexpr int kPatienceMs = 60'000;  // a pager takes its time
  return write_output(output, page, 0644, kPatienceMs);
}

Result<std::string> html_of_folder(const std::string& folder) {
  auto stored = read_run(folder);
  if (!stored) return stored.error();
  auto report = read_stored_run(std::move(*stored), 0, {});
  if (!report) return report.error();
  return html_page({&*report, 1}, {});
}

}  // namespace tacho
