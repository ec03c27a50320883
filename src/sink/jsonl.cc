// -o FILE.jsonl, --format json: one object a line, with the device lists.
#include "codec/jsonl.h"
#include "base/log.h"
#include "os/line_file.h"
#include "sink/csv_file.h"
#include "sink/files.h"

namespace tacho {
namespace {

class JsonlSink final : public Sink {
 public:
  JsonlSink(LineFile file, bool compatible, bool to_stderr)
      : file_(std::move(file)), compatible_(compatible), to_stderr_(to_stderr) {}

  Status begin(const Run& run, const Schema& schema) override {
    encoder_.begin(run, schema, compatible_);
    return file_.empty();
  }
  void baseline(const Detail& detail) override { encoder_.baseline(detail); }

  Status write(const Row& row, const Detail* detail) override {
    text_.clear();
    // Every line on stderr is a row: messages travel inside of one (base/log.h).
    if (to_stderr_ && log::holds_any()) messages_ = log::take();
    encoder_.write(text_, row, detail != nullptr ? *detail : nothing_, messages_);
    const Status status = file_.write(text_.view(), wait_ms_for(row));
    if (status) messages_.clear();  // what was not taken goes with the next row
    return status;
  }

  Status end(const Run&) override { return ok(); }
  bool wants_detail() const override { return true; }
  std::string_view name() const override { return file_.path(); }

 private:
  LineFile file_;
  bool compatible_, to_stderr_;
  std::vector<std::string> messages_;
  JsonlEncoder encoder_;
  Detail nothing_;
  Writer text_{16 * 1024};
};

}  // namespace

Result<std::unique_ptr<Sink>> open_jsonl_sink(const std::string& destination, const SinkOptions& options) {
  auto file = LineFile::open(destination);
  if (!file) return file.error();
  return std::unique_ptr<Sink>(
      std::make_unique<JsonlSink>(std::move(*file), options.compatible, destination == kStderr));
}

}  // namespace tacho
