#include "deliver/metric_letters.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "base/path.h"
#include "os/file.h"
#include "os/owned_folder.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr std::string_view kEndOfMetrics = "# EOF\n";

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
off_t end_of_lines(int fd, off_t at) {
  char last = '\n';
  while (at > 0 && (::pread(fd, &last, 1, at - 1) != 1 || last != '\n')) --at;
  [[maybe_unused]] const int cut = ::ftruncate(fd, at);
  return at;
}

}  // namespace

MetricLetters::MetricLetters(const std::string& folder, const std::string& run, bool otlp)
    : folder_(parent_folder(folder) + "/dead-letter"),
      name_((is_file_name(run) ? run : std::string(last_part(folder))) + (otlp ? ".otlp.jsonl" : ".openmetrics")),
      path_(folder_ + "/" + name_),
      otlp_(otlp) {}

Status MetricLetters::keep(std::string_view lines) {
  const auto failed = [&](const Error& error) {
    return Error{error.code, "cannot keep samples that were refused", path_, error.hint};
  };
  const auto folder = OwnedFolder::make(folder_);
  if (!folder) return failed(folder.error());
  const std::hash<std::string_view> hash;
  if (!std::exchange(loaded_, true))
    if (const auto text = folder->read(name_, size_t{256} << 20))
      each_line(*text, [&](std::string_view line) { known_.insert(hash(line)); });
  std::string fresh;
  each_line(lines, [&](std::string_view line) {
    if (!known_.contains(hash(line))) fresh += line;
  });
  if (fresh.empty()) return ok();
  const auto fd = folder->open_file(name_, O_RDWR | O_CREAT, kSpoolFileMode);
  if (!fd) return failed(fd.error());
  ::flock(fd->get(), LOCK_EX);  // another run's deliverer may have the same file open
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0) return failed(system_error("", path_, errno));
  off_t at = info.st_size;
  char tail[kEndOfMetrics.size()];
  const auto tail_bytes = static_cast<off_t>(sizeof tail);
  if (!otlp_ && at >= tail_bytes && ::pread(fd->get(), tail, sizeof tail, at - tail_bytes) == tail_bytes &&
      std::string_view(tail, sizeof tail) == kEndOfMetrics)
    at -= tail_bytes;
  at = end_of_lines(fd->get(), at);
  std::string text = fresh;
  if (!otlp_) text += kEndOfMetrics;
  ::lseek(fd->get(), at, SEEK_SET);
  if (const Status written = write_all(fd->get(), text); !written) {
    static_cast<void>(end_of_lines(fd->get(), at));
    return failed(written.error());
  }
  if (::fdatasync(fd->get()) != 0) return failed(system_error("", path_, errno));
  each_line(fresh, [&](std::string_view line) { known_.insert(hash(line)); });
  return ok();
}

}  // namespace tacho
