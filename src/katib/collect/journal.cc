#include "katib/collect/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/crc32c.h"
#include "base/log.h"
#include "base/text.h"
#include "os/file.h"

namespace tacho {
namespace {

void put_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == '\\') out += "\\\\";
    else if (c == '\t') out += "\\t";
    else if (c == '\n') out += "\\n";
    else out += c;
  }
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) out += text[i];
    else if (const char c = text[++i]; c == 't') out += '\t';
    else out += c == 'n' ? '\n' : c;
  }
  return out;
}

}  // namespace

std::string journal_line(const MetricRow& row) {
  std::string out;
  for (const std::string_view part : {row.time_stamp.text(), std::string_view(row.name), std::string_view(row.value)}) {
    put_escaped(part, out);
    out += '\t';
  }
  if (row.step) out += std::to_string(*row.step);
  out += '\t';
  if (row.epoch) out += std::to_string(*row.epoch);
  return out + "\t" + std::to_string(crc32c(out)) + "\n";
}

bool parse_journal_line(std::string_view line, MetricRow& out) {
  const auto parts = split(line, '\t');
  if (parts.size() != 6 || parse_int<uint32_t>(parts[5]) != crc32c(line.substr(0, line.size() - parts[5].size() - 1)))
    return false;
  out = {unescaped(parts[0]), unescaped(parts[1]), unescaped(parts[2]), parse_int<int64_t>(parts[3]),
         parse_int<int64_t>(parts[4])};
  return !out.name.empty();
}

Journal::Journal(std::string path, std::string_view owner) : path_(std::move(path)) {
  if (!path_.empty()) {
    fd_ = Fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0644));
    struct stat there {};
    // Somebody else's FIFO, device or second name of another file is not written to.
    if (fd_ && (::fstat(fd_.get(), &there) != 0 || !S_ISREG(there.st_mode) || there.st_nlink != 1))
      fd_.reset(), errno = EINVAL;
    if (!fd_)
      log::warn(system_error("rows that wait are kept in memory only, since the file cannot be made", path_, errno));
  }
  if (!fd_) {
    path_.clear();
    fd_ = Fd(::memfd_create("tacho-rows", MFD_CLOEXEC));
    in_memory_ = true;
  }
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0) size_ = info.st_size;
  // A line that a killed collector left half written.
  char last = '\n';
  if (size_ > 0 && ::pread(fd_.get(), &last, 1, size_ - 1) == 1 && last != '\n') append({});
  if (!path_.empty() && !owner.empty()) claim(owner);
}

// The first line tells whose rows these are: `of TAB name`, which is no row.
void Journal::claim(std::string_view owner) {
  std::string line("of\t");
  put_escaped(owner, line);
  line += '\n';
  std::string first(line.size(), '\0');
  if (::pread(fd_.get(), first.data(), first.size(), 0) == static_cast<ssize_t>(first.size()) && first == line) return;
  if (::ftruncate(fd_.get(), 0) != 0)
    return log::warn(system_error("rows of another Trial cannot be removed", path_, errno));
  size_ = 0;
  write(line);
}

void Journal::write(const std::string& line) {
  if (size_ + static_cast<int64_t>(line.size()) > (in_memory_ ? most_in_memory_ : most_in_file_)) {
    if (lost_++ == 0)
      log::error(
          "too many rows wait for the database: further ones of resources and scrapes are lost until it is back");
    return;
  }
  const ssize_t written = ::pwrite(fd_.get(), line.data(), line.size(), size_);
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += written;
    return;
  }
  const int why = written < 0 ? errno : ENOSPC;
  if (::ftruncate(fd_.get(), size_) != 0) log::debug("the torn row stays and will be passed over");
  if (!in_memory_ && move_to_memory()) {
    log::warn(system_error("rows that wait are kept in memory from now on, since the file cannot be written; make room",
                           path_, why));
    return write(line);
  }
  ++lost_;
  log::warn(system_error("a row could not be kept and is lost; make room", path_, why));
}

// What was not read yet, at the same offsets: a place in the file is one in memory, and after a restart one in the file
// again.
bool Journal::move_to_memory() {
  Fd memory(::memfd_create("tacho-rows", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), size_) != 0) return false;
  std::array<char, 65536> buffer;
  for (int64_t at = offset_; at < size_;) {
    const ssize_t got =
        ::pread(fd_.get(), buffer.data(), std::min<size_t>(buffer.size(), static_cast<size_t>(size_ - at)), at);
    if (got <= 0 || ::pwrite(memory.get(), buffer.data(), static_cast<size_t>(got), at) != got) return false;
    at += got;
  }
  fd_ = std::move(memory);
  return in_memory_ = true;
}

void Journal::append(const MetricRow& row) { write(row.name.empty() ? "\n" : journal_line(row)); }

Result<bool> Journal::read(bool, size_t limit, const Take& take) {
  std::array<char, 65536> buffer;
  size_t rows = 0;
  while (offset_ < size_) {
    const ssize_t got =
        ::pread(fd_.get(), buffer.data(), std::min(buffer.size(), static_cast<size_t>(size_ - offset_)), offset_);
    if (got < 0) return system_error("cannot read the rows that wait", path_, errno);
    if (got == 0) return false;
    std::string_view text(buffer.data(), static_cast<size_t>(got));
    bool any = false;
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      if (rows >= limit) return true;
      MetricRow row;
      if (parse_journal_line(text.substr(0, end), row)) take(row), ++rows;
      text.remove_prefix(end + 1);
      offset_ += static_cast<int64_t>(end) + 1;
      any = true;
    }
    // No row is that long: what is there is damage.
    if (!any) offset_ += got;
  }
  return false;
}

bool Journal::holds(std::string_view name, std::string_view value) const {
  Journal copy("");
  copy.fd_ = Fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
  copy.size_ = size_;
  bool found = false;
  const auto more =
      copy.read(true, SIZE_MAX, [&](const RowView& row) { found = found || (row.name == name && row.value == value); });
  return more && found;
}

void Journal::all_acknowledged() {
  lost_ = 0;
  if (!path_.empty() || size_ == 0 || ::ftruncate(fd_.get(), 0) != 0) return;
  offset_ = size_ = 0;
}

std::string Journal::position() const { return std::to_string(offset_); }

Status Journal::seek(std::string_view position) {
  const auto offset = position.empty() ? 0 : parse_int<int64_t>(position).value_or(-1);
  if (offset < 0) return Error{Code::invalid, "the state tells of no place in the rows that wait", path_, ""};
  offset_ = std::min(offset, size_);
  return ok();
}

}  // namespace tacho
