// The output "markdown": a section of Markdown behind what the file holds, with one write, when the run ends: several
// steps of a CI job share one summary. From the run store, which `tacho export` reads too; without one from the rows.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "export/markdown.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/line_file.h"
#include "os/output_target.h"
#include "report/verdict/verdict.h"
#include "sink/files.h"
#include "sink/output_place.h"

namespace tacho {
namespace {

constexpr off_t kMostSummary = 1 << 20;  // GitHub shows nothing of a summary that is larger

Status append_once(const std::string& path, std::string_view text) {
  if (path == "-") {
    auto out = LineFile::open("-");
    return out ? out->write(text, 10 * LineFile::kWaitMs) : Status(out.error());
  }
  // Looked at when the run began, and again now: anybody may have put something there meanwhile.
  const auto file = open_to_append(path, 0666);
  if (!file) return file.error();
  struct stat info {};
  if (::fstat(file->get(), &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size + static_cast<off_t>(text.size()) > kMostSummary)
    return Error{Code::invalid, "the summary would be larger than 1 MiB, and is left as it is", path,
                 "tacho export -f markdown writes the section elsewhere"};
  const ssize_t written = ::write(file->get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return ok();
  return system_error("cannot write all of the summary", path, written < 0 ? errno : ENOSPC);
}

Status check_summary(const std::string& path) {
  struct stat info {};
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return check_place(path);
  if (const auto target = output_target(path); !target) return target.error();
  return ::access(path.c_str(), W_OK) == 0 ? ok() : Status(system_error("cannot write", path, errno));
}

class MarkdownSink final : public Sink {
 public:
  MarkdownSink(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {}

  void stored_in(const std::string& folder) override { folder_ = folder; }
  Status begin(const Run& run, const Schema& schema) override {
    judged_ = JudgedRun::of(run);
    verdict_ = VerdictFold(schema);
    return ok();
  }
  Status write(const Row& row, const Detail*) override {
    if (folder_.empty()) verdict_.add(row, judged_);
    return ok();
  }
  Status end(const Run& run) override {
    if (folder_.empty())
      return append_once(path_, markdown_section(JobFigures(run), verdict_line(verdict_.verdict(run).judgement)));
    auto stored = read_run(folder_);
    if (!stored) return stored.error();
    return append_once(path_, markdown_of(stored_input(std::move(*stored))));
  }
  std::string_view name() const override { return name_; }
  bool ends_after_store() const override { return true; }

 private:
  std::string name_, path_, folder_;
  JudgedRun judged_;
  VerdictFold verdict_;
};

}  // namespace

Result<std::unique_ptr<Sink>> open_markdown_sink(const std::string& destination, const SinkOptions&) {
  std::string path = path_in(destination, "markdown:");
  if (const Status place = check_summary(path); !place) return place.error();
  return std::unique_ptr<Sink>(std::make_unique<MarkdownSink>(destination, std::move(path)));
}

}  // namespace tacho
