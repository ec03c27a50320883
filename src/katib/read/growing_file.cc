#include "katib/read/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/crc32c.h"
#include "base/log.h"
#include "base/path.h"
#include "katib/read/rotation.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kLarge = size_t{1} << 20;
constexpr size_t kBefore = 64;  // bytes kept for the checksum

GrowingFile::Identity identity_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

ssize_t pread_retried(int fd, char* to, size_t size, uint64_t offset) {
  ssize_t got = 0;
  do got = GrowingFile::calls.pread(fd, to, size, static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  return got;
}

int open_retried(const char* path, int flags) {
  int fd = -1;
  do fd = GrowingFile::calls.open(path, flags);
  while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

GrowingFile::Calls GrowingFile::calls{[](const char* path, int flags) { return ::open(path, flags); }, ::pread};

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {}

bool GrowingFile::open(const std::string& path, bool& absent) {
  Fd fd(open_retried(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  absent = !fd && errno == ENOENT;
  if (!fd || ::fstat(fd.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    return false;
  }
  if (inside_ && !is_inside(fd.get())) {
    errno = EXDEV;
    return false;
  }
  fd_ = std::move(fd);
  identity_ = identity_of(status);
  if (!first_) first_ = identity_;
  forget_buffer();
  end_offset_ = 0;
  return true;
}

// Told by the open file itself, so that nobody can change it in between.
bool GrowingFile::is_inside(int fd) const {
  const std::string real = read_link("/proc/self/fd/" + std::to_string(fd));
  char* const folder = ::realpath(parent_folder(path_).c_str(), nullptr);
  if (real.empty() || folder == nullptr) return std::free(folder), true;
  std::string inside(folder);
  std::free(folder);
  if (!inside.ends_with('/')) inside += '/';
  return real.starts_with(inside);
}

void GrowingFile::forget_buffer() {
  begin_ = end_ = 0;
  at_eof_ = false;
}

// A file that was rotated away has another name in the same folder.
bool GrowingFile::open_by_identity(Identity wanted) {
  const std::string folder = parent_folder(path_);
  std::string found;
  list_directory(folder, [&](std::string_view name) {
    struct stat status {};
    const std::string path = folder + "/" + std::string(name);
    if (found.empty() && ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        identity_of(status) == wanted)
      found = path;
  });
  bool absent = false;
  return !found.empty() && open(found, absent) && identity_ == wanted;
}

// Nothing: it cannot be read now.
std::optional<bool> GrowingFile::is_same_text_before(const Place& place) const {
  std::array<char, kBefore> bytes{};
  if (place.before_size > bytes.size() || place.before_size > place.offset) return false;
  const ssize_t got = pread_retried(fd_.get(), bytes.data(), place.before_size, place.offset - place.before_size);
  if (got < 0) return std::nullopt;
  return got == static_cast<ssize_t>(place.before_size) &&
         crc32c({bytes.data(), static_cast<size_t>(place.before_size)}) == place.before_crc;
}

void GrowingFile::start_again() {
  forget_buffer();
  end_offset_ = files_before_ = 0;
  restarted_ = true;
  ++beginnings_;
}

// Opens what a seek wants, else the file of the name. Without an error and without fd_: it is not there yet.
Status GrowingFile::open_first() {
  const std::optional<Place> place = std::exchange(wanted_, std::nullopt);
  const auto later = [&](Fd before) {
    Error error = system_error("cannot read the metrics file", path_, errno);
    if (errno == EXDEV)
      error = {Code::denied, "the metrics file is a link that leads out of its folder, and is not read", path_, ""};
    if (before) fd_ = std::move(before);
    wanted_ = place;
    return error;
  };
  if (place && fd_ && identity_ == place->file) {
    forget_buffer();
  } else {
    bool absent = false;
    Fd before = std::move(fd_);
    if (!open(path_, absent) && !absent) return later(std::move(before));
    if (place && (!fd_ || identity_ != place->file)) open_by_identity(place->file);
    if (!fd_) {
      fd_ = std::move(before);
      wanted_ = place;
      return ok();
    }
  }
  if (!place) return ok();
  if (identity_ != place->file) return ++beginnings_, ok();  // it was replaced, and the old one is gone
  const std::optional<bool> same = is_same_text_before(*place);
  if (!same) return later({});
  if (*same) {
    end_offset_ = place->offset - place->before_size;
    make_room();
    const ssize_t got = pread_retried(fd_.get(), buffer_.data(), place->before_size, end_offset_);
    if (got < 0) return later({});
    end_ = begin_ = static_cast<size_t>(got);
    end_offset_ += end_;
    if (end_offset_ == place->offset) return ok();
  }
  start_again();
  return ok();
}

void GrowingFile::make_room() {
  const size_t keep = begin_ - std::min(begin_, kBefore);
  if (keep > 0) {
    std::memmove(buffer_.data(), buffer_.data() + keep, end_ - keep);
    begin_ -= keep;
    end_ -= keep;
  }
  if (buffer_.size() >= end_ + kReadBytes / 4) return;
  // The longest line that is not skipped fits into little more than a mebibyte.
  const size_t larger = buffer_.size() < kLarge ? 2 * buffer_.size() : buffer_.size() + buffer_.size() / 8;
  buffer_.resize(std::max(kReadBytes, larger));
}

bool GrowingFile::is_replaced(bool at_end) const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  // A rotated file may still be written to until the new one has something in it.
  return identity_of(status) != identity_ && (status.st_size > 0 || at_end);
}

// Truncated and grown again beyond the place since the last look: other bytes stand before it.
bool GrowingFile::has_other_text_before() const {
  std::array<char, kBefore> bytes{};
  const size_t size = std::min(end_, kBefore);
  const ssize_t got = pread_retried(fd_.get(), bytes.data(), size, end_offset_ - size);
  return got >= 0 &&
         (static_cast<size_t>(got) != size || std::memcmp(bytes.data(), buffer_.data() + end_ - size, size) != 0);
}

bool GrowingFile::skip_lines() {
  constexpr size_t kFar = 2 * kReadBytes;
  std::array<char, 4096> tail;
  const uint64_t there = wanted_ ? 0 : size();
  if (there < end_offset_ + kFar || has_other_text_before()) return false;
  if (pread_retried(fd_.get(), tail.data(), tail.size(), there - tail.size()) != static_cast<ssize_t>(tail.size()))
    return false;
  const size_t last = std::string_view(tail.data(), tail.size()).rfind('\n');
  if (last == std::string_view::npos || last < kBefore) return false;
  forget_buffer();
  make_room();
  std::memcpy(buffer_.data(), tail.data() + last + 1 - kBefore, kBefore);
  begin_ = end_ = kBefore;
  end_offset_ = there - tail.size() + last + 1;
  return true;
}

Result<GrowingFile::Fill> GrowingFile::fill(bool at_end) {
  if (!fd_ || wanted_) {
    if (auto opened = open_first(); !opened) return opened.error();
    if (!fd_ || wanted_) return at_end ? Fill::ended : Fill::nothing;
  }
  make_room();
  if (at_eof_ && has_other_text_before()) start_again();
  if (const ssize_t got = read_on(); got != 0) {
    if (got < 0) {
      Error error = system_error("cannot read the metrics file", path_, errno);
      if (errno == ESTALE) {  // the server knows the descriptor no more, but perhaps the file
        wanted_ = place();
        begin_ = end_;
        fd_.reset();
      }
      return error;
    }
    return Fill::more;
  }
  struct stat status {};
  if (::fstat(fd_.get(), &status) == 0 && static_cast<uint64_t>(status.st_size) < end_offset_) {
    start_again();
    return fill(at_end);
  }
  if (!is_replaced(at_end)) return at_end ? Fill::ended : Fill::nothing;
  return read_on() > 0 ? Fill::more : Fill::ended;  // the last bytes may have come before the new file did
}

ssize_t GrowingFile::read_on() {
  const ssize_t got = pread_retried(fd_.get(), buffer_.data() + end_, buffer_.size() - end_, end_offset_);
  at_eof_ = got == 0;
  if (got > 0) {
    end_ += static_cast<size_t>(got);
    end_offset_ += static_cast<uint64_t>(got);
  }
  return got;
}

uint64_t GrowingFile::size() const {
  struct stat status {};
  return fd_ && ::fstat(fd_.get(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool GrowingFile::next() {
  bool absent = false;
  struct stat status {};
  if (!fd_ || ::stat(path_.c_str(), &status) != 0 || identity_of(status) == identity_) return false;
  const auto follows = [&, before = files_before_ + end_offset_](const std::string& path) {
    if (!open(path, absent)) return false;
    files_before_ = before;
    return true;
  };
  // Rotated more than once since the last look: the files in between come first.
  if (const auto between = rotated_after(fd_.get(), path_)) {
    constexpr int kMostRefused = 100;
    if (follows(*between)) return refused_ = 0, true;
    if (!absent && ++refused_ < kMostRefused) return false;  // it may be opened at the next look
    log::warn(path_ + ": a rotated file cannot be opened and is left out: " + *between);
  }
  return follows(path_);
}

std::optional<GrowingFile::Place> GrowingFile::place(size_t back) const {
  if (wanted_) return wanted_;
  if (!fd_) return std::nullopt;
  const size_t at = begin_ - back, size = std::min(at, kBefore);
  return Place{identity_, offset() - back, size, crc32c({buffer_.data() + at - size, size})};
}

void GrowingFile::seek(std::optional<Place> place) {
  if (!place && first_) place = Place{*first_, 0, 0, 0};
  wanted_ = place;
  begin_ = end_;  // what is unread is read again
  files_before_ = 0;
}

void GrowingFile::begin_anew() {
  struct stat status {};
  first_.reset();
  if (::stat(path_.c_str(), &status) == 0) first_ = identity_of(status);
  seek(std::nullopt);
}

void GrowingFile::hold() {
  bool absent = false;
  if (!fd_ && !wanted_) open(path_, absent);
}

bool GrowingFile::restarted() { return std::exchange(restarted_, false); }

}  // namespace tacho
