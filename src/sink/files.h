// The sinks that write a file (or stdout, stderr): one open function each, named in sink/table.cc.
#pragma once
#include "sink/sink.h"

namespace tacho {

Result<std::unique_ptr<Sink>> open_csv_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_csv_gz_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_jsonl_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_html_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_nextflow_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_snakemake_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_jobstats_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_markdown_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_prom_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_openmetrics_sink(const std::string& destination, const SinkOptions& options);

}  // namespace tacho
