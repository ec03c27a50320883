#include "report/html.h"

#include "base/path.h"
#include "os/file.h"
#include "os/line_file.h"
#include "report/csv_reader.h"
#include "report/html_page.h"
#include "report/input.h"
#include "report/store.h"

namespace tacho {
namespace {

// Charts from the rows, and with `statistics` those too. A file without rows gives a report without charts.
Status read_rows(const std::string& path, ReportRun& report, bool statistics) {
  CsvReader reader;
  if (const Status status = reader.open(path); !status) return status;
  Summary summary;
  summary.begin(reader.schema());
  report.series.begin(reader.schema(), charted_columns());
  each_row(reader, report.run, [&](const Row& row) {
    report.series.add(row);
    summary.add(row);
  });
  if (!statistics) return ok();
  take_statistics(report, summary);
  if (reader.skipped() > 0)
    report.run.notes.push_back(std::to_string(reader.skipped()) + " damaged lines were skipped.");
  return ok();
}

Result<ReportRun> read_file(const std::string& path) {
  ReportRun report;
  report.title = last_part(path);
  if (const Status status = read_rows(path, report, true); !status) return status.error();
  return report;
}

Result<ReportRun> read_run(const std::string& store_dir, const std::string& name) {
  auto stored = find_run(store_dir, name);
  if (!stored) return stored.error();
  ReportRun report;
  report.run = std::move(stored->run);
  report.title = report.run.id;
  report.statistics = std::move(stored->statistics);
  report.rows = stored->rows;
  for (const auto& [column, values] : report.statistics)
    if (column == "timestamp") report.duration_s = values.sum;
  // A run without readable rows still has its outcome and statistics to show.
  if (const Status status = read_rows(stored->folder + "/metrics.csv", report, false); !status)
    report.run.notes.push_back("There are no charts: " + status.error().message());
  return report;
}

}  // namespace

Status write_html_report(std::span<const std::string> inputs, const std::string& store_dir, const std::string& output) {
  if (inputs.empty())
    return Error{Code::invalid, "a report needs a run or a file", "", "for instance: tacho report last"};
  std::vector<ReportRun> runs;
  for (const std::string& input : inputs) {
    auto report = is_metrics_file(input) ? read_file(input) : read_run(store_dir, input);
    if (!report) return report.error();
    runs.push_back(std::move(*report));
  }
  const std::string page = html_page(runs);
  if (output != "-") return write_file_atomically(output, page, false, 0644);
  auto out = LineFile::open(output);
  if (!out) return out.error();
  constexpr int kPatienceMs = 60'000;  // a pager takes its time
  return out->write(page, kPatienceMs);
}

}  // namespace tacho
