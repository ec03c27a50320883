// tacho export RUN... -f FORMAT: what -o would have written, from the run store.
#include <algorithm>
#include <array>

#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "codec/jsonl.h"
#include "export/jobstats.h"
#include "export/markdown.h"
#include "export/metrics.h"
#include "export/nextflow.h"
#include "export/snakemake.h"
#include "os/file.h"
#include "report/store/input.h"

namespace tacho {
namespace {

using Runs = std::vector<const Input*>;  // by their start

std::vector<JobFigures> figures(const Runs& runs) {
  std::vector<JobFigures> jobs;
  for (const Input* input : runs) jobs.emplace_back(input->stored.run);
  return jobs;
}

// Rows are those that were measured: of a group its runs' one after the other, not their sums.
std::vector<std::string> row_files(const Runs& runs) {
  std::vector<std::string> paths;
  for (const Input* input : runs) {
    for (const StoredRun& member : input->members) paths.push_back(member.folder + "/metrics.csv");
    if (input->members.empty()) paths.push_back(input->rows_path);
  }
  return paths;
}

Result<std::string> rows_text(const Runs& runs) {
  std::string all;
  for (const std::string& path : row_files(runs)) {
    auto text = read_regular_file(path, 1u << 30);
    if (!text) return text.error();
    // Rows of further runs follow without a second header, where it is the same one.
    const size_t first_line = text->find('\n') + 1;
    const bool same = !all.empty() && all.starts_with(std::string_view(*text).substr(0, first_line));
    all += same ? std::string_view(*text).substr(first_line) : std::string_view(*text);
  }
  return all;
}

Result<std::string> metrics(const Runs& runs, MetricsFormat format) {
  CsvReader reader;
  if (const Status status = reader.open(runs[0]->rows_path); !status) return status.error();
  JobMetrics job;
  job.begin(reader.schema());
  each_row(reader, runs[0]->stored.run, [&](const Row& row) { job.add(row); });
  return metrics_text(runs[0]->stored.run, job, format);
}

Result<std::string> nextflow_lines(const Runs& runs) {
  std::string text = nextflow_tsv_header();
  int64_t number = 0;
  for (const JobFigures& job : figures(runs)) text += nextflow_tsv_line(job, ++number);
  return text;
}

Result<std::string> snakemake_lines(const Runs& runs) {
  std::string text = snakemake_header();
  for (const JobFigures& job : figures(runs)) text += snakemake_line(job);
  return text;
}

Result<std::string> snakemake_json(const Runs& runs) {
  std::string text;
  for (const JobFigures& job : figures(runs)) text += snakemake_json_line(job);
  return text;
}

Result<std::string> jobstats(const Runs& runs) {
  std::vector<StoredRun> all;
  for (const Input* input : runs) {
    all.insert(all.end(), input->members.begin(), input->members.end());
    if (input->members.empty()) all.push_back(input->stored);
  }
  return jobstats_of(all) + "\n";
}

Result<std::string> markdown(const Runs& runs) {
  std::string text;
  for (const Input* input : runs) text += markdown_of(*input);
  return text;
}

// The columns of the run, as -o FILE.jsonl writes them; the lists of devices are in no store.
Status add_json_lines(Writer& text, const Run& run, const std::string& rows_path) {
  CsvReader reader;
  if (const Status status = reader.open(rows_path); !status) return status;
  JsonlEncoder encoder;
  encoder.begin(run, reader.schema(), false);
  each_row(reader, run, [&](const Row& row) { encoder.write(text, row, {}); });
  return ok();
}

Result<std::string> json_lines(const Runs& runs) {
  Writer text;
  Status status = ok();
  for (const StoredRun& member : runs[0]->members)
    if (status) status = add_json_lines(text, member.run, member.folder + "/metrics.csv");
  if (runs[0]->members.empty()) status = add_json_lines(text, runs[0]->stored.run, runs[0]->rows_path);
  if (!status) return status.error();
  return std::string(text.view());
}

struct Format {
  std::string_view name;
  bool takes_several;
  Result<std::string> (*make)(const Runs& runs);
};
constexpr std::array kFormats = {
    Format{"csv", true, rows_text},
    Format{"jsonl", false, json_lines},
    Format{"nextflow", false,
           [](const Runs& runs) -> Result<std::string> { return nextflow_trace(JobFigures(runs[0]->stored.run)); }},
    Format{"nextflow-tsv", true, nextflow_lines},
    Format{"snakemake", true, snakemake_lines},
    Format{"snakemake-jsonl", true, snakemake_json},
    Format{"prom", false, [](const Runs& runs) { return metrics(runs, MetricsFormat::prometheus); }},
    Format{"openmetrics", false, [](const Runs& runs) { return metrics(runs, MetricsFormat::openmetrics); }},
    Format{"jobstats", true, jobstats},
    Format{"markdown", true, markdown},
};

}  // namespace

int export_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const ParsedLine& line = started.line;
  if (line.words.empty())
    return refuse(
        {Code::invalid, "export takes a run", "", "write tacho export last -f nextflow; tacho runs lists all"});
  const auto settings = resolve(line, kExport, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto format = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& known) { return known.name == settings->format; });
  if (format == kFormats.end())
    return refuse({Code::invalid, "no format", "--format", "for instance -f nextflow; tacho help export lists them"});
  if (line.words.size() > 1 && !format->takes_several)
    return refuse({Code::invalid, std::string(format->name) + " is of one run", line.words[1], "export one at a time"});
  auto inputs = read_inputs(settings->store_dir, line.words);
  if (!inputs) return refuse(inputs.error());
  // What is said now counts, else what was said of the run.
  if (!settings->metric_labels.empty())
    for (Input& input : *inputs) input.stored.run.metric_labels = settings->metric_labels;
  Runs runs;
  for (const Input& input : *inputs) runs.push_back(&input);
  std::stable_sort(runs.begin(), runs.end(), [](const Input* a, const Input* b) {
    return a->stored.run.outcome.started_realtime_ns < b->stored.run.outcome.started_realtime_ns;
  });
  const auto text = format->make(runs);
  if (!text) return refuse(text.error());
  const std::string path = value_of(line, "output").value_or("");
  if (path.empty() || path == "-") return print(*text);
  constexpr int kPatienceMs = 60'000;
  const Status written = write_output(path, *text, 0666, kPatienceMs);
  if (!written) return refuse(written.error()), 1;
  return 0;
}

}  // namespace tacho
