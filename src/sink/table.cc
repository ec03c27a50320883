// The one table of sinks, and the choice for what -o was given.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/text.h"
#include "sink/bq_sink.h"
#include "sink/files.h"
#include "sink/metric_sink.h"
#include "sink/output_place.h"
#include "sink/spool_sink.h"

namespace tacho {
namespace {

constexpr std::array kSinks{
    SinkInfo{"csv", ".csv", "one line a sample; the 32 compatible columns first", open_csv_sink},
    SinkInfo{"csv.gz", ".csv.gz", "the same, compressed; a kill loses at most 10 seconds", open_csv_gz_sink},
    SinkInfo{"jsonl", ".jsonl", "one JSON object a sample, with every core, disk, interface and GPU", open_jsonl_sink},
    SinkInfo{"json", ".json", "the same as .jsonl", open_jsonl_sink},
    SinkInfo{"html", ".html", "one self-contained page with charts, written at the end", open_html_sink},
    SinkInfo{"nextflow", ".nftrace", "a task's trace as Nextflow reads it, written at the end", open_nextflow_sink},
    SinkInfo{"nextflow", ".command.trace", "the same, under Nextflow's own name", open_nextflow_sink},
    SinkInfo{"nextflow", "nextflow:", "the same in a file of any name, nextflow:PATH", open_nextflow_sink},
    SinkInfo{"snakemake", ".benchmark.tsv", "a benchmark file as Snakemake writes it", open_snakemake_sink},
    SinkInfo{"snakemake", ".benchmark.jsonl", "the same as a JSON line", open_snakemake_sink},
    SinkInfo{"snakemake", "snakemake:", "the same in a file of any name, snakemake:PATH", open_snakemake_sink},
    SinkInfo{"prom", ".prom", "metrics in Prometheus' text format, for node_exporter's textfile collector",
             open_prom_sink},
    SinkInfo{"prom", "prom:", "the same in a file of any name, prom:PATH", open_prom_sink},
    SinkInfo{"openmetrics", ".openmetrics", "metrics as OpenMetrics 1.0", open_openmetrics_sink},
    SinkInfo{"openmetrics", "openmetrics:", "the same in a file of any name, openmetrics:PATH", open_openmetrics_sink},
    SinkInfo{"jobstats", "jobstats:", "the summary that jobstats' tools read, jobstats:PATH", open_jobstats_sink},
    SinkInfo{"markdown", ".md", "a section of Markdown, appended when the run ends, for the summary of a CI job",
             open_markdown_sink},
    SinkInfo{"markdown", "markdown:", "the same in a file of any name, markdown:PATH", open_markdown_sink},
    SinkInfo{"prometheus", "prometheus+https://",
             "samples by remote write, prometheus+https://HOST/PATH[#run_id=0&system=1], sent by tacho-deliver",
             open_metric_sink},
    SinkInfo{"prometheus", "prometheus+http://", "the same to this machine", open_metric_sink},
    SinkInfo{"otlp", "otlp+https://",
             "points by OTLP/HTTP, otlp+https://HOST[/PATH][#encoding=json&gzip=0&system=1], sent by tacho-deliver",
             open_metric_sink},
    SinkInfo{"otlp", "otlp+http://", "the same to this machine", open_metric_sink},
    SinkInfo{"otlp", "otlp:", "the same to where OTEL_EXPORTER_OTLP_ENDPOINT says", open_metric_sink},
    SinkInfo{"bq", "bq://", "rows of a BigQuery table, bq://PROJECT.DATASET[.TABLE], sent by tacho-deliver",
             open_bq_sink},
    SinkInfo{"s3", "s3://", "gzipped CSV batches as objects below s3://BUCKET/PREFIX, sent by tacho-deliver",
             open_s3_sink},
};

bool is_standard_stream(const std::string& destination) { return destination == "-" || destination == kStderr; }

// "s3" of "s3://bucket/key"; empty when the destination is a path.
std::string_view scheme_of(std::string_view destination) {
  const size_t colon = destination.find("://");
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = destination.substr(0, colon);
  const bool word = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
  });
  return word ? scheme : std::string_view{};
}

bool is_scheme(const SinkInfo& sink) { return sink.pattern.ends_with("://"); }
bool is_prefix(const SinkInfo& sink) { return sink.pattern.ends_with(':'); }

const std::string kUsualNames = ".csv, .csv.gz, .jsonl or .html", kAllNames = "tacho list sinks has all";

const SinkInfo* find_by_scheme(const std::string& destination) {
  const std::string low = lower(destination);
  for (const SinkInfo& sink : kSinks)
    if (is_scheme(sink) && low.starts_with(sink.pattern)) return &sink;
  return nullptr;
}

// "prom:PATH": the file may have any name.
const SinkInfo* find_by_prefix(const std::string& destination) {
  for (const SinkInfo& sink : kSinks)
    if (is_prefix(sink) && destination.starts_with(sink.pattern) &&
        !destination.substr(sink.pattern.size()).starts_with("//"))
      return &sink;
  return nullptr;
}

// The longest ending wins: .csv.gz before .gz.
const SinkInfo* find_by_extension(const std::string& destination) {
  const std::string low = lower(destination);
  const SinkInfo* best = nullptr;
  for (const SinkInfo& sink : kSinks)
    if (!is_scheme(sink) && !is_prefix(sink) && low.ends_with(sink.pattern) &&
        (best == nullptr || sink.pattern.size() > best->pattern.size()))
      best = &sink;
  return best;
}

const SinkInfo* find_by_format(std::string_view format) {
  const std::string_view name = format == "json" ? "jsonl" : format;
  const auto found =
      std::find_if(kSinks.begin(), kSinks.end(), [&](const SinkInfo& sink) { return sink.name == name; });
  return found == kSinks.end() ? nullptr : &*found;
}

Error unknown_scheme(const std::string& destination, std::string_view scheme) {
  std::vector<std::string_view> words;
  for (const SinkInfo& sink : kSinks) words.push_back(sink.name);
  Error error{Code::invalid, "this tacho cannot write to \"" + std::string(scheme) + "://\"", destination, ""};
  if (scheme == "gs") {
    error.hint =
        "write -o bq://PROJECT.DATASET for rows of BigQuery, or -o s3://BUCKET/PREFIX with "
        "TACHO_S3_ENDPOINT=https://storage.googleapis.com and HMAC keys";
    return error;
  }
  if (const std::string_view near = nearest(scheme, words); !near.empty())
    error.hint = "did you mean " + std::string(near) + "? ";
  if (scheme == "http" || scheme == "https")
    error.hint = "samples go to a receiver of metrics by prometheus+" + destination + " or otlp+" + destination + "; ";
  error.hint += "write a file that ends in " + kUsualNames + ", or - for stdout; " + kAllNames;
  return error;
}

Error unknown_extension(const std::string& destination) {
  if (lower(destination).ends_with(".parquet"))
    return {Code::invalid, "tacho writes no Parquet", destination,
            "write .csv; docs/query.md has the line by which DuckDB makes Parquet of any number of runs"};
  const std::string what = "cannot tell the format of the output";
  if (struct stat info{}; ::stat(destination.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return {Code::invalid, "the output is a folder", destination, "name a file in it: -o " + destination + "/run.csv"};
  if (const size_t colon = destination.find(":/"); colon != std::string::npos && colon > 0 && colon < 6)
    return {Code::invalid, what, destination,
            "an address has two slashes: " + destination.substr(0, colon) + "://" + destination.substr(colon + 2)};
  for (const std::string_view ending : {".pdf", ".png", ".svg", ".htm"})
    if (lower(destination).ends_with(ending))
      return {Code::invalid, what, destination,
              "write -o " + destination.substr(0, destination.size() - ending.size()) +
                  ".html; a browser prints it as PDF"};
  return {Code::invalid, what, destination,
          "end its name in " + kUsualNames + ", or add --format csv or --format json; " + kAllNames};
}

// Empty for what is no file.
std::string path_of(const std::string& destination) {
  if (destination == "-") return "/dev/stdout";
  if (!scheme_of(destination).empty() || destination == kStderr) return {};
  const SinkInfo* const sink = find_by_prefix(destination);
  return sink == nullptr ? destination : destination.substr(sink->pattern.size());
}

}  // namespace

bool is_same_place(const std::string& one, const std::string& other) {
  if (one == other) return true;
  const std::string path = path_of(one), second = path_of(other);
  return !path.empty() && !second.empty() && leads_to_same_place(path, second);
}

std::span<const SinkInfo> all_sinks() { return kSinks; }

Result<const SinkInfo*> find_sink(const std::string& destination, const SinkOptions& options) {
  if (destination.empty())
    return Error{Code::invalid, "an output needs a name", "--output",
                 "for instance -o metrics.csv, or -o - for stdout"};
  std::string_view format = options.format;
  const SinkInfo* sink = nullptr;
  if (const std::string_view scheme = scheme_of(destination); !scheme.empty()) {
    sink = find_by_scheme(destination);
    if (sink == nullptr) return unknown_scheme(destination, scheme);
  } else if (!options.compatible && find_by_prefix(destination) != nullptr) {
    sink = find_by_prefix(destination);
  } else if (options.compatible) {
    // resource-tracker does not look at the name: --format decides, and is json unless given.
    if (format.empty()) format = "json";
  } else if (is_standard_stream(destination)) {
    if (format.empty()) format = "csv";
  } else {
    sink = find_by_extension(destination);
  }
  if (sink == nullptr && !format.empty()) {
    sink = find_by_format(format);
    if (sink == nullptr) return Error{Code::invalid, "unknown format", std::string(format), "use csv or json"};
  }
  if (sink == nullptr) return unknown_extension(destination);
  return sink;
}

Result<std::unique_ptr<Sink>> open_sink(const std::string& destination, const SinkOptions& options) {
  const auto sink = find_sink(destination, options);
  return sink ? (*sink)->open(destination, options) : Result<std::unique_ptr<Sink>>(sink.error());
}

}  // namespace tacho
