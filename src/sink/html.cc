// -o FILE.html: the report of this run alone, written when it ends. Rows are folded as they come, so that memory stays
// flat over days.
#include "os/file.h"
#include "os/line_file.h"
#include "report/html_page.h"
#include "sink/files.h"

namespace tacho {
namespace {

class HtmlSink final : public Sink {
 public:
  explicit HtmlSink(std::string path) : path_(std::move(path)) {}

  Status begin(const Run& run, const Schema& schema) override {
    summary_.begin(schema);
    report_.series.begin(schema, charted_columns());
    return write_file_atomically(path_, html_placeholder(run));
  }

  Status write(const Row& row, const Detail*) override {
    summary_.add(row);
    report_.series.add(row);
    return ok();
  }

  Status end(const Run& run) override {
    report_.run = run;
    report_.title = run.id;
    take_statistics(report_, summary_);
    return write_file_atomically(path_, html_page({&report_, 1}));
  }

  std::string_view name() const override { return path_; }

 private:
  std::string path_;
  Summary summary_;
  ReportRun report_;
};

}  // namespace

Result<std::unique_ptr<Sink>> open_html_sink(const std::string& destination, const SinkOptions&) {
  // Tells at once whether the place can be written to.
  if (const auto file = LineFile::open(destination); !file) return file.error();
  return std::unique_ptr<Sink>(std::make_unique<HtmlSink>(destination));
}

}  // namespace tacho
