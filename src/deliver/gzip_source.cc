#include "deliver/gzip_source.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tacho {

GzipSource::GzipSource(BodySource& text) : text_(text) {
  rewind();
  while (fill()) bytes_ += static_cast<int64_t>(ready_.size());
  rewind();
}

void GzipSource::rewind() {
  text_.rewind();
  pieces_.emplace();
  ready_.clear();
  at_ = 0;
  taken_ = 0;
}

size_t GzipSource::read(char* to, size_t room) {
  if (at_ == ready_.size() && !fill()) return 0;
  const size_t bytes = std::min(room, ready_.size() - at_);
  std::memcpy(to, ready_.data() + at_, bytes);
  at_ += bytes;
  return bytes;
}

// The next piece; false at the end. A text that ends too early gets no trailer, so that nobody takes it for whole.
bool GzipSource::fill() {
  ready_.clear();
  at_ = 0;
  std::array<char, GzipEncoder::kFlushBytes> plain;
  while (ready_.empty() && pieces_) {
    const size_t got = text_.read(plain.data(), plain.size());
    taken_ += static_cast<int64_t>(got);
    if (got > 0) {
      pieces_->put({plain.data(), got});
      ready_ = pieces_->take();
      continue;
    }
    if (taken_ == text_.bytes()) ready_ = pieces_->finish();
    pieces_.reset();
  }
  return !ready_.empty();
}

}  // namespace tacho
