// -o FILE.csv, -o -: one line a row.
#include "os/line_file.h"
#include "sink/csv_file.h"
#include "sink/files.h"

namespace tacho {
namespace {

class CsvSink final : public Sink {
 public:
  explicit CsvSink(CsvFile file) : file_(std::move(file)) {}
  Status begin(const Run&, const Schema& schema) override { return file_.begin(schema), ok(); }
  Status write(const Row& row, const Detail*) override { return file_.write(row); }
  Status end(const Run&) override { return ok(); }
  std::string_view name() const override { return file_.path(); }

 private:
  CsvFile file_;
};

}  // namespace

Result<std::unique_ptr<Sink>> open_csv_sink(const std::string& destination, const SinkOptions& options) {
  auto file = LineFile::open(destination);
  if (!file) return file.error();
  return std::unique_ptr<Sink>(std::make_unique<CsvSink>(CsvFile(std::move(*file), options.compatible)));
}

}  // namespace tacho
