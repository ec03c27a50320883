#include "codec/gzip.h"

#define ZLIB_CONST  // next_in may point to const text
#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace tacho {
namespace {

// zlib needs 2^(window+2) + 2^(memory+9) bytes: 128 KiB here. A window of 16 KiB holds some sixty rows, enough to find
// what repeats.
constexpr int kWindowBits = 14, kMemoryLevel = 7, kLevel = 6;
constexpr int kGzipFormat = 16;  // added to the window bits: gzip header and trailer instead of zlib's
constexpr size_t kBufferBytes = 64 * 1024;
// What a sync flush, the gzip header and the trailer add beyond deflateBound.
constexpr size_t kMarginBytes = 64;

}  // namespace

GzipEncoder::GzipEncoder() = default;
GzipEncoder::GzipEncoder(GzipEncoder&&) noexcept = default;
GzipEncoder::~GzipEncoder() {
  if (stream_) ::deflateEnd(stream_.get());
}

Status GzipEncoder::open() {
  stream_ = std::make_unique<z_stream>();
  std::memset(stream_.get(), 0, sizeof(z_stream));
  if (::deflateInit2(stream_.get(), kLevel, Z_DEFLATED, kWindowBits + kGzipFormat, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    stream_.reset();
    return Error{Code::io, "cannot start gzip", "", "memory is short"};
  }
  buffer_.resize(kBufferBytes);
  filled_ = sent_ = fed_through_ = 0;
  return ok();
}

bool GzipEncoder::put(std::string_view text) { return deflate_all(text, Z_NO_FLUSH); }
bool GzipEncoder::flush() { return deflate_all({}, Z_SYNC_FLUSH); }
bool GzipEncoder::finish() { return deflate_all({}, Z_FINISH); }

bool GzipEncoder::deflate_all(std::string_view text, int mode) {
  if (!stream_) return false;
  if (sent_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + sent_, filled_ - sent_);
    filled_ -= sent_;
    sent_ = 0;
  }
  // What zlib holds back inside comes on top of the bound of what is fed now.
  unsigned held = 0;
  int bits = 0;
  ::deflatePending(stream_.get(), &held, &bits);
  const size_t open_bytes = unflushed_bytes() + text.size();
  if (buffer_.size() - filled_ < ::deflateBound(stream_.get(), open_bytes) + held + kMarginBytes) return false;
  stream_->next_in = reinterpret_cast<const Bytef*>(text.data());
  stream_->avail_in = static_cast<uInt>(text.size());
  stream_->next_out = reinterpret_cast<Bytef*>(buffer_.data() + filled_);
  stream_->avail_out = static_cast<uInt>(buffer_.size() - filled_);
  const int result = ::deflate(stream_.get(), mode);
  filled_ = buffer_.size() - stream_->avail_out;
  if (mode != Z_NO_FLUSH && result >= Z_OK) fed_through_ = stream_->total_in;
  return mode == Z_FINISH ? result == Z_STREAM_END
                          : (result == Z_OK || result == Z_BUF_ERROR) && stream_->avail_in == 0;
}

size_t GzipEncoder::unflushed_bytes() const { return stream_ ? stream_->total_in - fed_through_ : 0; }

void GzipEncoder::sent(size_t bytes) { sent_ = std::min(filled_, sent_ + bytes); }

}  // namespace tacho
