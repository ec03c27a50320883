// -o for the tools that read a run: a trace of Nextflow, a benchmark of Snakemake, the summary of jobstats, each
// written when the run ends, and the metrics text that Prometheus' tools pick up, which is replaced while the run goes
// on. A file is complete or not there: a temporary one, whose name begins with a dot, takes its place.
#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/units.h"
#include "export/jobstats.h"
#include "export/metrics.h"
#include "export/nextflow.h"
#include "export/snakemake.h"
#include "os/file.h"
#include "os/line_file.h"
#include "os/output_target.h"
#include "sink/files.h"
#include "sink/output_place.h"

namespace tacho {
namespace {

constexpr size_t kLongestTrace = 1 << 20;
constexpr int64_t kRefreshNs = 15 * kNsPerSec;

Status replace_file(const std::string& path, std::string_view text) {
  return write_output(path, text, 0666, 10 * LineFile::kWaitMs);
}

// What a file holds, where it is a plain one of a sane size.
std::string text_before(const std::string& path) {
  if (path == "-") return {};
  return read_regular_file(path, kLongestTrace).value_or("");
}

using MakeText = std::string (*)(const JobFigures& job, const std::string& path);

class AtEndSink final : public Sink {
 public:
  AtEndSink(std::string name, std::string path, MakeText make)
      : name_(std::move(name)), path_(std::move(path)), make_(make) {}
  Status begin(const Run&, const Schema&) override { return ok(); }
  Status write(const Row&, const Detail*) override { return ok(); }
  Status end(const Run& run) override { return replace_file(path_, make_(JobFigures(run), path_)); }
  std::string_view name() const override { return name_; }

 private:
  std::string name_, path_;
  MakeText make_;
};

// The GPUs one by one are in the store alone: without one the summary has their number.
class JobstatsSink final : public Sink {
 public:
  JobstatsSink(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {}
  void stored_in(const std::string& folder) override { folder_ = folder; }
  Status begin(const Run&, const Schema&) override { return ok(); }
  Status write(const Row&, const Detail*) override { return ++rows_, ok(); }
  Status end(const Run& run) override {
    if (!folder_.empty())
      if (const auto stored = read_run(folder_)) return replace_file(path_, jobstats_of({&*stored, 1}) + "\n");
    const JobFigures job(run);
    return replace_file(path_, jobstats_text({&job, 1}, rows_) + "\n");
  }
  std::string_view name() const override { return name_; }
  bool ends_after_store() const override { return true; }

 private:
  std::string name_, path_, folder_;
  int64_t rows_ = 0;
};

class MetricsSink final : public Sink {
 public:
  MetricsSink(std::string name, std::string path, MetricsFormat format)
      : name_(std::move(name)), path_(std::move(path)), format_(format) {}

  Status begin(const Run& run, const Schema& schema) override {
    run_ = &run;
    metrics_.begin(schema);
    if (is_stream_) return ok();
    if (auto text = read_regular_file(path_, kLongestTrace)) before_ = std::move(*text);
    const Status written = refresh(run);
    is_begun_ = static_cast<bool>(written);
    return written;
  }
  Status write(const Row& row, const Detail*) override {
    metrics_.add(row);
    since_ns_ += row.interval_ns;
    if (since_ns_ < kRefreshNs || is_stream_) return ok();
    since_ns_ = 0;
    return refresh(*run_);
  }
  Status end(const Run& run) override { return refresh(run); }
  // A command that is not there was never running: an alert would wait for its end.
  void discard() override {
    if (!std::exchange(is_begun_, false)) return;
    if (before_) static_cast<void>(replace_file(path_, *before_));
    else if (const auto target = output_target(path_)) ::unlink(target->c_str());
  }
  std::string_view name() const override { return name_; }

 private:
  Status refresh(const Run& run) { return replace_file(path_, metrics_text(run, metrics_, format_)); }

  std::string name_, path_;
  bool is_stream_ = path_ == "-" || is_special_file(path_);  // nothing there can be replaced: it gets the end's alone
  MetricsFormat format_;
  const Run* run_ = nullptr;  // as it is now: much is known only after the start
  JobMetrics metrics_;
  std::optional<std::string> before_;  // what stood there: of a run before this one
  bool is_begun_ = false;
  int64_t since_ns_ = 0;
};

Result<std::unique_ptr<Sink>> open_at_end(const std::string& destination, std::string_view prefix, MakeText make) {
  std::string path = path_in(destination, prefix);
  if (const Status place = check_place(path); !place) return place.error();
  return std::unique_ptr<Sink>(std::make_unique<AtEndSink>(destination, std::move(path), make));
}

Result<std::unique_ptr<Sink>> open_metrics(const std::string& destination, std::string_view prefix,
                                           MetricsFormat format) {
  std::string path = path_in(destination, prefix);
  if (const Status place = check_place(path); !place) return place.error();
  return std::unique_ptr<Sink>(std::make_unique<MetricsSink>(destination, std::move(path), format));
}

}  // namespace

Result<std::unique_ptr<Sink>> open_nextflow_sink(const std::string& destination, const SinkOptions&) {
  return open_at_end(destination, "nextflow:", [](const JobFigures& job, const std::string& path) {
    return nextflow_trace(job, text_before(path));
  });
}

Result<std::unique_ptr<Sink>> open_snakemake_sink(const std::string& destination, const SinkOptions&) {
  return open_at_end(destination, "snakemake:", [](const JobFigures& job, const std::string& path) {
    return path.ends_with(".jsonl") ? snakemake_json_line(job) : snakemake_header() + snakemake_line(job);
  });
}

Result<std::unique_ptr<Sink>> open_jobstats_sink(const std::string& destination, const SinkOptions&) {
  std::string path = path_in(destination, "jobstats:");
  if (const Status place = check_place(path); !place) return place.error();
  return std::unique_ptr<Sink>(std::make_unique<JobstatsSink>(destination, std::move(path)));
}

Result<std::unique_ptr<Sink>> open_prom_sink(const std::string& destination, const SinkOptions&) {
  return open_metrics(destination, "prom:", MetricsFormat::prometheus);
}

Result<std::unique_ptr<Sink>> open_openmetrics_sink(const std::string& destination, const SinkOptions&) {
  return open_metrics(destination, "openmetrics:", MetricsFormat::openmetrics);
}

}  // namespace tacho
