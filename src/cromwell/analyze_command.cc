#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cromwell/analyze_bigquery.h"
#include "cromwell/analyze_output.h"
#include "cromwell/commands.h"
#include "cromwell/options.h"
#include "cromwell/step_line.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/text_table.h"

namespace tacho {
namespace {

constexpr const char kAnalyzeHelp[] =
    "Examples:\n"
    "  tacho cromwell analyze --runtime runtime.json.gz --metrics 'metrics-*.json.gz' --metadata metadata.json.gz\n"
    "  tacho cromwell analyze bq://my-project.cromwell_monitoring --days 7 -o tasks.html\n\n"
    "Usage: tacho cromwell analyze [OPTIONS] [bq://PROJECT.DATASET]\n"
    "What each task asked for, what it used, and lines of WDL for what to ask for by the size of its inputs. The "
    "tables\n"
    "come from exports of BigQuery (newline-delimited JSON, plain or gzip) or, as bq://PROJECT.DATASET in place of a "
    "file\n"
    "or of all three, through its API. Exit status: 0 done, 1 a table cannot be read, 2 wrong usage.\n\n";

constexpr int64_t kMostDays = 36'500;
constexpr int kPatienceMs = 60'000;  // a pager takes its time

struct AnalyzeSettings {
  std::string runtime, metrics, metadata;  // a file, or bq://…
  std::string workflow;                    // empty: all of them
  int64_t days = 30, most_bytes = 1'000'000'000;
};

// "1GB", "500MB", "2TB", bytes: decimal, as BigQuery bills.
std::optional<int64_t> decimal_bytes(std::string_view text) {
  const std::string word = lower(trim(text));
  const size_t digits = std::min(word.find_first_not_of("0123456789."), word.size());
  const auto number = parse_double(word.substr(0, digits));
  const std::string_view unit = trim(std::string_view(word).substr(digits));
  double factor = 0;
  for (const auto& [name, value] : {std::pair{"", 1.0},
                                    {"b", 1.0},
                                    {"k", 1e3},
                                    {"kb", 1e3},
                                    {"m", 1e6},
                                    {"mb", 1e6},
                                    {"g", 1e9},
                                    {"gb", 1e9},
                                    {"t", 1e12},
                                    {"tb", 1e12}})
    if (unit == name) factor = value;
  if (!number || factor == 0 || *number * factor < 1 || *number * factor > 1e18) return std::nullopt;
  return static_cast<int64_t>(*number * factor);
}

Result<AnalyzeSettings> analyze_settings(const CromwellOptions& options) {
  AnalyzeSettings settings{options.runtime, options.metrics, options.metadata, options.workflow_id};
  if (options.words.size() > 1 || (!options.words.empty() && !options.words[0].starts_with("bq://")))
    return Error{
        Code::invalid, "this is no dataset", options.words.back(),
        "write bq://PROJECT.DATASET; files are named by --runtime, --metrics and --metadata, several as 'name-*.json'"};
  size_t stdins = 0;
  for (const auto& [name, value] : {std::pair{"--runtime", &settings.runtime},
                                    {"--metrics", &settings.metrics},
                                    {"--metadata", &settings.metadata}}) {
    if (value->empty() && !options.words.empty()) *value = options.words[0];
    if (value->empty())
      return Error{Code::invalid, std::string(name) + " is missing", "",
                   "name all three tables, or bq://PROJECT.DATASET"};
    stdins += *value == "-" ? 1 : 0;
  }
  if (stdins > 1) return Error{Code::invalid, "only one table can come from stdin", "", "name files for the others"};
  if (!options.days.empty()) {
    const auto days = parse_int<int64_t>(options.days);
    if (!days || *days < 1 || *days > kMostDays)
      return Error{Code::invalid, "--days is a number from 1 to 36500", options.days, ""};
    settings.days = *days;
  }
  if (!options.most_bytes.empty()) {
    const auto bytes = decimal_bytes(options.most_bytes);
    if (!bytes) return Error{Code::invalid, "--max-bytes is a size", options.most_bytes, "write 1GB, 500MB or 2TB"};
    settings.most_bytes = *bytes;
  }
  return settings;
}

struct WantedTable {
  const std::string& place;
  const char *name, *variable, *time_column;
  std::span<const std::string_view> columns;
};

constexpr uint64_t kRowsAStep = 4096;

Status read_table(const WantedTable& table, BqTableSource& bigquery, TableSink sink, TableCount& count,
                  StepLine& steps) {
  sink.begin_row = [&, begin = std::move(sink.begin_row)] {
    if (count.rows % kRowsAStep == 0)
      steps.show("reading " + std::string(table.name), std::to_string(count.rows) + " rows");
    begin();
  };
  if (const auto place = parse_bq_place(table.place)) {
    if (!*place) return place->error();
    return bigquery.read(**place, environment_or(table.variable, table.name), table.time_column, table.columns, sink,
                         count);
  }
  for (const std::string& file : files_named(table.place))
    if (const Status status = read_export(file, table.name, sink, count); !status) return status;
  return ok();
}

template <class Row, class Take>
TableSink sink_of(Row& row, const Take& take) {
  return {&row, [&row] { row.clear(); },
          [&row, &take]() -> std::string {
            if constexpr (requires { row.finish(); }) row.finish();
            if (const std::string_view lacking = row.lacks(); !lacking.empty())
              return "it has no usable " + std::string(lacking);
            return take(row);
          }};
}

// What of a row needs no order: only the largest counts.
void note_extremes(CallAttempt& attempt, const MetricsRow& row) {
  const auto keep = [](float& most, const std::optional<double>& value) {
    if (value && *value > most) most = static_cast<float>(*value);
  };
  ++attempt.samples;
  attempt.preempted |= row.preempted;
  attempt.oom_kills = std::max(attempt.oom_kills, row.oom_kills.value_or(-1));
  keep(attempt.psi_cpu, row.psi_cpu), keep(attempt.psi_memory, row.psi_memory), keep(attempt.psi_io, row.psi_io);
  keep(attempt.gpu_percent, row.gpu_percent), keep(attempt.gpu_memory_gb, row.gpu_memory_gb);
}

// The three tables into one.
class TablesReading {
 public:
  TablesReading(const AnalyzeSettings& settings, BqTableSource bigquery, StepLine& steps)
      : table(settings.workflow), settings_(settings), bigquery_(std::move(bigquery)), steps_(steps) {}

  Status all() {
    CallRow call;
    const auto take_call = [&](CallRow& row) { return row.cached.value_or(false) ? "" : (table.add(row), ""); };
    const WantedTable metadata{settings_.metadata, "metadata", "TABLE_ID", "start_time", call_columns()};
    if (Status status = read_table(metadata, bigquery_, sink_of(call, take_call), inputs.metadata, steps_); !status)
      return status;
    RuntimeRow runtime;
    const auto take_runtime = [&](RuntimeRow& row) { return table.add(row), ""; };
    const WantedTable starts{settings_.runtime, "runtime", "RUNTIME_TABLE_ID", "start_time", runtime_columns()};
    if (Status status = read_table(starts, bigquery_, sink_of(runtime, take_runtime), inputs.runtime, steps_); !status)
      return status;
    table.close();
    return metrics();
  }

  AttemptTable table;
  SampleSorter samples;
  SeriesSpan span;
  AnalyzeInputs inputs;

 private:
  Status metrics() {
    MetricsRow row;
    Status failed = ok();
    const auto take = [&](MetricsRow& metrics) {
      const AttemptTable::Owner owner = table.owner_of(metrics);
      // Of those that are looked for; the rows of other workflows are none of them.
      if (owner.attempt == AttemptTable::kNobody) return inputs.unmatched += settings_.workflow.empty() ? 1 : 0, "";
      CallAttempt& attempt = table.attempts()[owner.attempt];
      span.add(*metrics.time_us);
      note_extremes(attempt, metrics);
      // The mean over the CPUs that the row tells of, times the machine's CPUs.
      const double cpus = attempt.machine_cpus > 0 ? attempt.machine_cpus : static_cast<double>(metrics.cpus);
      const double cores =
          metrics.cpus == 0 ? kNotKnown : cpus * metrics.cpu_percent_sum / static_cast<double>(metrics.cpus) / 100;
      const TaskSample sample{owner.attempt,
                              owner.run,
                              *metrics.time_us,
                              metrics.seq.value_or(-1),
                              cores,
                              metrics.mem_used_gb.value_or(kNotKnown),
                              metrics.disks};
      if (failed) failed = samples.add(sample);
      return "";
    };
    const WantedTable wanted{settings_.metrics, "metrics", "METRICS_TABLE_ID", "timestamp", metrics_columns()};
    const Status status = read_table(wanted, bigquery_, sink_of(row, take), inputs.metrics, steps_);
    return status ? failed : status;
  }

  const AnalyzeSettings& settings_;
  BqTableSource bigquery_;
  StepLine& steps_;
};

void add_notes(AnalyzeReport& report, const TablesReading& reading) {
  const auto note = [&](uint64_t count, const char* one, const char* many, const std::string& rest) {
    if (count > 0) report.notes.push_back(std::to_string(count) + " " + (count == 1 ? one : many) + rest);
  };
  for (const TableCount* count : {&reading.inputs.runtime, &reading.inputs.metrics, &reading.inputs.metadata}) {
    const std::string first = count->faults.empty() ? "" : ": " + count->faults.front();
    note(count->bad, "line was left out", "lines were left out", first);
  }
  note(reading.inputs.unmatched, "row of metrics belongs", "rows of metrics belong",
       " to no attempt that is looked at: no row of runtime has its run_id, or its instance before its time");
  note(reading.inputs.repeated, "row of metrics was", "rows of metrics were",
       " there more than once, and counted once");
  note(reading.table.unnamed(), "row of runtime names", "rows of runtime name",
       " neither a workflow's task nor an instance of the metadata");
  note(reading.table.left_out(), "attempt is", "attempts are",
       " left out: of more than " + std::to_string(AttemptTable::kMostAttempts) + " an even sample is looked at");
  uint64_t unsized = 0, partly = 0;
  for (const CallAttempt& attempt : reading.table.attempts()) {
    unsized += is_known(attempt.input_gb) ? 0 : 1;
    partly += attempt.some_sizes_unknown && is_known(attempt.input_gb) ? 1 : 0;
  }
  note(unsized, "attempt has", "attempts have", " inputs of an unknown size, and no part in a formula");
  note(partly, "attempt has", "attempts have", " some inputs of an unknown size, which count as nothing");
}

Result<CostTable> costs_of(const std::string& path) {
  if (path.empty()) return CostTable();
  const auto text = read_whole_file(path, kLargestPriceList);
  if (!text) return text.error();
  auto list = parse_prices(*text);
  if (!list) return Error{list.error().code, list.error().what, path, list.error().hint};
  if (list->skipped > 0)
    log::warn(path + ": " + std::to_string(list->skipped) + " lines have no server, size or price and are left out");
  if (list->prices.empty()) return Error{Code::invalid, "there is no price in this list", path, "see docs/advice.md"};
  return CostTable(std::move(*list));
}

int print_report(const AnalyzeReport& report, const TablesReading& reading, const CromwellOptions& options) {
  bool written = true;
  const auto put = [&](std::string_view text) {
    written &= std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  };
  if (!options.output.empty()) {
    const std::string page = analyze_page(report, reading.table);
    if (options.output == "-") put(page);
    else if (const Status status = write_output(options.output, page, 0644, kPatienceMs); !status)
      return log::error(status.error().message()), 1;
  }
  if (options.json) write_analyze_json(report, reading.table, reading.inputs, put);
  else if (options.output.empty()) {
    const bool color = environment("NO_COLOR").empty() && terminal_takes_colors(STDOUT_FILENO);
    put(analyze_text(report, reading.table, terminal_width(STDOUT_FILENO), color));
  } else if (options.output != "-" && !options.quiet) {
    std::fprintf(stderr, "tacho: %s: %zu tasks\n", options.output.c_str(), report.tasks.size());
  }
  if (std::fflush(stdout) != 0) written = false;
  if (!written) return log::error("cannot write to stdout"), 1;
  return 0;
}

}  // namespace

int analyze_command(std::span<const std::string> arguments) {
  const auto options = parse_options(kAnalyze, arguments);
  if (!options) return log::error(options.error().message()), kBadUsage;
  if (options->help) return std::fputs((kAnalyzeHelp + options_help(kAnalyze)).c_str(), stdout) < 0 ? 1 : 0;
  const auto settings = analyze_settings(*options);
  if (!settings) return log::error(settings.error().message()), kBadUsage;
  if (options->json && options->output == "-") return log::error("--json and -o - both write to stdout"), kBadUsage;
  auto costs = costs_of(options->prices);
  if (!costs) return log::error(costs.error().message()), kBadUsage;
  auto auth = auth_settings(*options, {std::string(kScopeBigQuery)});
  if (!auth) return log::error(auth.error().message()), kBadUsage;
  BqSourceSettings source{std::move(*auth), options->bq_endpoint,
                          system_clock().realtime_ns() - settings->days * 86'400 * kNsPerSec, settings->most_bytes};
  StepLine steps(!options->quiet);
  TablesReading reading(*settings, BqTableSource(std::move(source)), steps);
  const Status read = reading.all();
  steps.clear();
  if (!read) return log::error(read.error().message()), 1;
  for (const TableCount* count : {&reading.inputs.runtime, &reading.inputs.metrics, &reading.inputs.metadata}) {
    for (const std::string& fault : count->faults) log::warn("left out: " + fault);
    if (count->bad > count->faults.size())
      log::warn("left out: " + std::to_string(count->bad - count->faults.size()) + " more lines");
  }
  if (reading.table.attempts().empty())
    return log::error("the tables tell of no call attempt" +
                      (settings->workflow.empty() ? "" : " of workflow " + harmless_text(settings->workflow))),
           1;
  UsageFold fold(reading.table);
  std::optional<WorkflowSeries> series;
  if (!settings->workflow.empty()) series.emplace(reading.table, reading.span);
  const auto take = [&](const TaskSample& sample) {
    if (series) series->take(sample);
    fold.take(sample);
  };
  if (const Status status = reading.samples.give(take); !status) return log::error(status.error().message()), 1;
  fold.finish();
  if (series) series->finish();
  reading.inputs.repeated = reading.samples.repeated();
  AnalyzeReport report = make_report(reading.table, fold, *costs);
  if (!reading.span.is_empty()) report.series = std::move(series);
  add_notes(report, reading);
  return print_report(report, reading, *options);
}

}  // namespace tacho
