#include "deliver/metric_letters.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "base/path.h"
#include "os/file.h"
#include "os/owned_folder.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr std::string_view kEndOfMetrics = "# EOF\n";
constexpr int64_t kMostInDoubt = int64_t{4} << 20;  // more than one process decides before it writes that down

// A run's id names a file; anything else does not.
bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() < 128 && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

template <class Take>
void each_line(std::string_view text, const Take& take) {
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    take(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
}

// What a full disk or a power cut tore goes: it is refused again, and kept then.
// Nothing: it cannot be read now, and is left as it is.
std::optional<off_t> end_of_lines(int fd, off_t at) {
  for (char last; at > 0; --at) {
    if (::pread(fd, &last, 1, at - 1) != 1) return std::nullopt;
    if (last == '\n') break;
  }
  [[maybe_unused]] const int cut = ::ftruncate(fd, at);
  return at;
}

Status write_all_at(int fd, std::string_view text, off_t at) {
  ::lseek(fd, at, SEEK_SET);
  return write_all(fd, text);
}

}  // namespace

MetricLetters::MetricLetters(const std::string& folder, const std::string& run, bool otlp, int64_t bytes)
    : folder_(parent_folder(folder) + "/dead-letter"),
      name_((is_file_name(run) ? run : std::string(last_part(folder))) + (otlp ? ".otlp.jsonl" : ".openmetrics")),
      path_(folder_ + "/" + name_),
      otlp_(otlp),
      bytes_(bytes) {}

Status MetricLetters::flush() {
  if (pending_.empty()) return ok();
  const auto folder = OwnedFolder::make(folder_);
  const Status kept = folder ? append(*folder, pending_) : Status(folder.error());
  if (!kept)
    return Error{kept.error().code, "cannot keep samples that were refused: " + kept.error().what, path_,
                 kept.error().hint.empty() ? "make room on its disk" : kept.error().hint};
  pending_.clear();
  return ok();
}

// A file that is shorter than it was is another one: somebody has taken the letters away.
void MetricLetters::load(int fd, int64_t end) {
  if (std::exchange(loaded_, true)) return;
  if (end < bytes_) bytes_ = 0;
  const int64_t begin = std::max(bytes_, end - kMostInDoubt);
  std::string text(static_cast<size_t>(end - begin), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), static_cast<off_t>(begin));
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  const std::hash<std::string_view> hash;
  each_line(text, [&](std::string_view line) { known_.insert(hash(line)); });
}

Status MetricLetters::append(const OwnedFolder& folder, const std::string& lines) {
  const auto fd = folder.open_file(name_, O_RDWR | O_CREAT, kSpoolFileMode);
  if (!fd) return fd.error();
  ::flock(fd->get(), LOCK_EX);  // another output of the run may have the same file open
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0) return system_error("", path_, errno);
  off_t at = info.st_size;
  char tail[kEndOfMetrics.size()];
  const auto tail_bytes = static_cast<off_t>(sizeof tail);
  if (!otlp_ && at >= tail_bytes && ::pread(fd->get(), tail, sizeof tail, at - tail_bytes) == tail_bytes &&
      std::string_view(tail, sizeof tail) == kEndOfMetrics)
    at -= tail_bytes;
  const auto whole = end_of_lines(fd->get(), at);
  if (!whole) return system_error("", path_, EIO);
  at = *whole;
  load(fd->get(), at);
  const std::hash<std::string_view> hash;
  std::string text;
  each_line(lines, [&](std::string_view line) {
    if (known_.erase(hash(line)) == 0) text += line;
  });
  const auto end = at + static_cast<off_t>(text.size());
  if (!otlp_) text += kEndOfMetrics;
  if (const Status written = write_all_at(fd->get(), text, at); !written) {
    // As it was: a whole file, whatever became of the disk.
    if (::ftruncate(fd->get(), at) == 0 && !otlp_ && at > 0)
      static_cast<void>(write_all_at(fd->get(), kEndOfMetrics, at));
    return written.error();
  }
  if (::fdatasync(fd->get()) != 0) return system_error("", path_, errno);
  end_ = end;
  if (known_.empty())
    bytes_ = end;  // else lines of a killed process are still in doubt: the next one must compare, too
  return ok();
}

}  // namespace tacho
