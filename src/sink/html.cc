// -o FILE.html: the report of this run alone, written when it ends: from the run store, which has all of it; without
// one from the rows, folded as they come, so that memory stays flat over days.
#include "report/page/html.h"
#include "base/units.h"
#include "os/file.h"
#include "os/line_file.h"
#include "report/page/html_charts.h"
#include "report/page/html_page.h"
#include "sink/files.h"

namespace tacho {
namespace {

class HtmlSink final : public Sink {
 public:
  explicit HtmlSink(std::string path) : path_(std::move(path)) {}

  void stored_in(const std::string& folder) override { folder_ = folder; }

  Status begin(const Run& run, const Schema& schema) override {
    if (folder_.empty()) {
      summary_.begin(schema);
      report_.series.begin(schema, charted_columns());
    }
    return is_special_file(path_) ? ok() : write_page(html_placeholder(run));
  }

  Status write(const Row& row, const Detail*) override {
    if (!folder_.empty()) return ok();
    if (summary_.rows() == 0) report_.start_s = as_seconds(row.realtime_ns - row.interval_ns);
    summary_.add(row);
    report_.series.add(row);
    return ok();
  }

  Status end(const Run& run) override {
    if (!folder_.empty()) {
      const auto page = html_of_folder(folder_);
      return page ? write_page(*page) : Status(page.error());
    }
    report_.stored.run = run;
    report_.title = run.id;
    report_.stored.rows = summary_.rows();
    report_.duration_s = summary_.duration_s();
    const Schema& schema = summary_.schema();
    for (size_t i = 1; i < schema.size(); ++i) {
      Statistics values = summary_.column(i);
      if (schema[i].rule != Rule::delta) values.sum = kAbsent;
      if (values.rows > 0) report_.stored.statistics.emplace_back(schema[i].name, values);
    }
    return write_page(html_page({&report_, 1}, {}));
  }

  std::string_view name() const override { return path_; }
  bool ends_after_store() const override { return true; }

 private:
  Status write_page(std::string_view page) { return write_output(path_, page, 0644, 10 * LineFile::kWaitMs); }

  std::string path_, folder_;
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
