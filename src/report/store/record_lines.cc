#include "report/store/record_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;
// No record is that long: what has no line end for so long is another kind of file.
constexpr size_t kLongestRecord = 1 << 20;

}  // namespace

Status RecordLines::open(const std::string& path) {
  auto file = open_regular_file(path);
  if (!file) return file.error();
  file_ = std::move(*file);
  chunk_.resize(kPieceBytes);
  return ok();
}

size_t RecordLines::read_piece() {
  for (;;) {
    const ssize_t got = ::read(file_.get(), chunk_.data(), chunk_.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return 0;  // what could be read counts
  }
}

bool RecordLines::fill() {
  if (ended_) return false;
  text_.erase(0, at_);
  at_ = 0;
  const std::string_view bytes(chunk_.data(), read_piece());
  const size_t before = text_.size();
  if (!begun_) compressed_ = GzipDecoder::is_gzip(bytes);
  begun_ = true;
  if (bytes.empty()) ended_ = true;
  else if (!compressed_) text_ += bytes;
  else if (!gunzip_.decode(bytes, text_)) ended_ = true;
  if (taker_ && text_.size() > before) taker_(std::string_view(text_).substr(before));
  return !ended_ || !text_.empty();
}

bool RecordLines::next(std::string_view& line) {
  size_t searched = 0;  // of the rest, up to here there is no end
  for (bool quoted = false;;) {
    const char* rest = text_.data() + at_;
    const size_t size = text_.size() - at_;
    const void* found = size > searched ? std::memchr(rest + searched, '\n', size - searched) : nullptr;
    const size_t end = found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - rest) : size;
    quoted ^= std::count(rest + searched, rest + end, '"') % 2 != 0;
    if (found != nullptr && (!quoted || end > kPieceBytes)) {  // a quote that nobody closes takes no more than that
      line = {rest, end};
      if (line.ends_with('\r')) line.remove_suffix(1);
      at_ += end + 1;
      return true;
    }
    searched = found != nullptr ? end + 1 : end;
    if (found == nullptr && (searched > kLongestRecord || !fill())) return false;
  }
}

std::string_view RecordLines::behind(std::string_view& line) {
  if (text_.find('\n', at_) == std::string::npos && !ended_) {
    // What was given out stays, and is at the start afterwards.
    const size_t size = line.size(), offset = static_cast<size_t>(line.data() - text_.data()), given = at_ - offset;
    at_ = offset;
    fill();
    line = std::string_view(text_).substr(0, size);
    at_ = given;
  }
  return std::string_view(text_).substr(at_);
}

}  // namespace tacho
