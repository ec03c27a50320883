#include "sink/process_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "base/units.h"
#include "codec/csv_text.h"
#include "codec/process_csv.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr int64_t kShownNs = kNsPerSec / 10'000;  // cpu_s has four decimals

// As a line shows it: over thousands of lines what is cut off adds up.
int64_t shown_ns(int64_t cpu_ns) { return (cpu_ns + kShownNs / 2) / kShownNs * kShownNs; }

// Whether a line begins with the number of this process.
bool is_line_of(std::string_view line, const ProcessRecord& record) {
  const std::string_view pid = csv_field(line, 0);
  return record.pid > 0 ? parse_int<pid_t>(pid) == record.pid : pid.empty();
}

}  // namespace

Result<ProcessFile> ProcessFile::create(const std::string& folder, size_t most) {
  auto owned = OwnedFolder::open(folder);
  if (!owned) return owned.error();
  auto fd = owned->open_file(kProcessFileName, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
  if (!fd) return fd.error();
  ProcessFile file(std::move(*owned), std::move(*fd), most);
  file.pending_.put(kProcessHeader);
  static_cast<void>(file.flush());  // a disk that is full now may have room later
  return file;
}

bool ProcessFile::has_no_lines() const { return written_ == kProcessHeader.size(); }

// Empty when it is not there any more.
std::string_view ProcessFile::command_of(const ProcessRecord& record) {
  if (record.line_bytes == 0) return {};
  std::string_view line;
  if (record.line_at >= written_) {
    const std::string_view text = pending_.view();
    const size_t at = record.line_at - written_;
    if (at >= text.size()) return {};
    line = text.substr(at, record.line_bytes);
  } else {
    const size_t bytes = std::min<size_t>(record.line_bytes, line_.size());
    const ssize_t got = ::pread(fd_.get(), line_.data(), bytes, static_cast<off_t>(record.line_at));
    if (got != static_cast<ssize_t>(bytes)) return {};
    line = {line_.data(), bytes};
  }
  return is_line_of(line, record) ? csv_field(line, kCommandField) : std::string_view();
}

void ProcessFile::write_line(ProcessRecord& record, std::string_view name, std::string_view command) {
  if (pending_.view().size() > kMostPending) {  // the disk takes nothing: what is known is in the table, and in the end
    record.line_bytes = 0;
    return;
  }
  const size_t at = pending_.view().size();
  write_process_line(pending_, record, name, command);
  record.line_at = written_ + at;
  record.line_bytes = static_cast<uint32_t>(pending_.view().size() - at);
  ++lines_;
}

void ProcessFile::put(ProcessRecord& record, std::string_view command) {
  write_line(record, process_name_text(record), command);
}

void ProcessFile::put_again(ProcessRecord& record) {
  const std::string command(command_of(record));  // what it shows may move
  put(record, command);
}

void ProcessFile::end(ProcessRecord record) {
  put_again(record);
  table_.add(record);
}

Error ProcessFile::cannot_write(const Error& why) const {
  return {why.code, "cannot write", folder_.path_of(kProcessFileName), why.hint};
}

Status ProcessFile::flush() {
  const std::string_view text = pending_.view();
  if (text.empty()) return ok();
  size_t done = 0;
  const Status status = write_all(fd_.get(), text, &done);
  if (!status) {
    const int error_number = errno;
    // Whole lines only; all of it is tried again.
    if (done > 0 && ::ftruncate(fd_.get(), static_cast<off_t>(written_)) != 0) errno = error_number;
    return cannot_write(status.error());
  }
  written_ += text.size();
  pending_.clear();
  return ok();
}

// A new file beside the old one, filled piece by piece, that takes its place when it is whole. Where nothing but the
// header has reached the disk, as in a run of less than an interval, the lines are added to the file itself.
class ProcessFile::Rewrite {
 public:
  explicit Rewrite(ProcessFile& file) : file_(file) {
    if (file.has_no_lines()) {
      bytes_ = file.written_;
      return;
    }
    name_ = temporary_name(kProcessFileName);
    auto fd = file.folder_.open_file(name_, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
    if (!fd) status_ = fd.error();
    else fd_ = std::move(*fd);
    out_.put(kProcessHeader);
  }
  ~Rewrite() {
    if (!name_.empty()) file_.folder_.remove_file(name_);
  }

  void put(ProcessRecord& record, std::string_view name) {
    // Read from the old file: where its line will be is written down only now.
    const std::string_view command = record.count > 1 ? std::string_view() : file_.command_of(record);
    const size_t before = out_.view().size();
    write_process_line(out_, record, name, command);
    record.line_at = bytes_ + before;
    record.line_bytes = static_cast<uint32_t>(out_.view().size() - before);
    if (out_.view().size() >= kPieceBytes) write();
  }
  void put(ProcessRecord& record) { put(record, process_name_text(record)); }
  void put_short_lived(int64_t cpu_ns) { write_short_lived_line(out_, cpu_ns); }

  Status commit() {
    write();
    if (!status_) {
      // Half of the lines are taken back.
      if (!is_new() && ::ftruncate(file_.fd_.get(), static_cast<off_t>(file_.written_)) != 0) file_.written_ = bytes_;
      return status_;
    }
    if (is_new()) {
      if (Status renamed = file_.folder_.rename_file(name_, kProcessFileName); !renamed) return renamed;
      name_.clear();
      file_.fd_ = std::move(fd_);
    }
    file_.written_ = bytes_;
    file_.lines_ = 0;
    file_.pending_.clear();
    return ok();
  }

 private:
  bool is_new() const { return !name_.empty(); }
  void write() {
    if (!status_) return;
    const int fd = is_new() ? fd_.get() : file_.fd_.get();
    if (Status written = write_all(fd, out_.view()); !written) status_ = file_.cannot_write(written.error());
    bytes_ += out_.view().size();
    out_.clear();
  }

  ProcessFile& file_;
  std::string name_;
  Fd fd_;
  Writer out_{kPieceBytes + kLongestProcessLine};
  uint64_t bytes_ = 0;
  Status status_ = ok();
};

Status ProcessFile::shorten(const Living& living) {
  static_cast<void>(flush());  // what did not reach the disk is still found in pending_
  table_.merge(table_.most());
  lines_ = 0;  // not again at once, should it fail
  Rewrite rewrite(*this);
  for (ProcessRecord& record : table_.records()) rewrite.put(record);
  living([&](ProcessRecord& record) { rewrite.put(record); });
  if (table_.other()) {
    ProcessRecord other = *table_.other();
    rewrite.put(other, kOtherProcesses);
  }
  const Status done = rewrite.commit();
  if (done) return ok();
  // A full disk: the old file stands, and where commands are in it is no longer known.
  for (ProcessRecord& record : table_.records()) record.line_bytes = 0;
  living([](ProcessRecord& record) { record.line_bytes = 0; });
  return done;
}

Status ProcessFile::finish(const Living& living, int64_t job_cpu_ns) {
  if (!has_no_lines()) static_cast<void>(flush());
  living([&](ProcessRecord& record) { table_.add(record); });
  table_.merge(table_.most());
  const auto records = table_.records();
  std::sort(records.begin(), records.end(), [](const ProcessRecord& a, const ProcessRecord& b) {
    return a.started_ms != b.started_ms ? a.started_ms < b.started_ms : a.pid < b.pid;
  });
  Rewrite rewrite(*this);
  int64_t told_ns = 0;
  for (ProcessRecord& record : records) {
    rewrite.put(record);
    told_ns += shown_ns(record.cpu_ns);
  }
  if (table_.other()) {
    ProcessRecord other = *table_.other();
    rewrite.put(other, kOtherProcesses);
    told_ns += shown_ns(other.cpu_ns);
  }
  if (job_cpu_ns - told_ns >= kShownNs / 2) rewrite.put_short_lived(job_cpu_ns - told_ns);
  return rewrite.commit();
}

}  // namespace tacho
