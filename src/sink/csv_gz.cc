// -o FILE.csv.gz: CSV through gzip, flushed every ten seconds of rows, so that a kill loses no more than those.
#include "base/units.h"
#include "codec/csv.h"
#include "codec/gzip.h"
#include "sink/csv_file.h"
#include "sink/files.h"

namespace tacho {
namespace {

constexpr int64_t kFlushEveryNs = 10 * kNsPerSec;

class CsvGzSink final : public Sink {
 public:
  CsvGzSink(LineFile file, GzipEncoder gzip, bool whole_seconds)
      : file_(std::move(file)), gzip_(std::move(gzip)), whole_seconds_(whole_seconds) {}

  Status begin(const Run&, const Schema& schema) override {
    schema_ = schema;
    text_.clear();
    write_csv_header(text_, schema_);
    gzip_.put(text_.view());
    gzip_.flush();
    static_cast<void>(send(LineFile::kWaitMs));  // what did not go out now goes with the first rows
    return ok();
  }

  Status write(const Row& row, const Detail*) override {
    text_.clear();
    write_csv_row(text_, schema_, row, whole_seconds_);
    if (!gzip_.put(text_.view())) {
      // The buffer is full because the place took nothing for long. Its state is the news, the row is lost.
      const Status status = send(LineFile::kWaitMs);
      if (!status || !gzip_.put(text_.view())) return status;
    }
    since_flush_ns_ += row.interval_ns;
    // Counting the row to come: with an interval of a minute every row is flushed at once.
    const bool due =
        since_flush_ns_ + row.interval_ns > kFlushEveryNs || gzip_.unflushed_bytes() > GzipEncoder::kFlushBytes;
    if (!due && gzip_.pending().empty()) return ok();
    if (due && gzip_.flush()) since_flush_ns_ = 0;
    return send(wait_ms_for(row));
  }

  Status end(const Run&) override {
    constexpr int kPatienceMs = 10 * LineFile::kWaitMs;
    if (!gzip_.finish()) {
      if (const Status status = send(kPatienceMs); !status) return status;
      gzip_.finish();
    }
    return send(kPatienceMs);
  }

  std::string_view name() const override { return file_.path(); }

 private:
  Status send(int wait_ms) {
    const std::string_view ready = gzip_.pending();
    if (ready.empty()) return ok();
    const Status status = file_.write(ready, wait_ms);
    if (status) gzip_.sent(ready.size());
    return status;
  }

  LineFile file_;
  GzipEncoder gzip_;
  bool whole_seconds_;
  Schema schema_;
  Writer text_;
  int64_t since_flush_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Sink>> open_csv_gz_sink(const std::string& destination, const SinkOptions& options) {
  auto file = LineFile::open(destination);
  if (!file) return file.error();
  GzipEncoder gzip;
  if (const Status status = gzip.open(); !status) return status.error();
  return std::unique_ptr<Sink>(std::make_unique<CsvGzSink>(std::move(*file), std::move(gzip), options.compatible));
}

}  // namespace tacho
