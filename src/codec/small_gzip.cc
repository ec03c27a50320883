#include "codec/small_gzip.h"

#define ZLIB_CONST  // next_in may point to const text
#include <zlib.h>

#include <array>
#include <utility>

namespace tacho {

SmallGzip::SmallGzip(size_t most) : most_(most), stream_(std::make_unique<z_stream>()) {
  *stream_ = {};
  constexpr int kWindowBits = 15, kGzipFormat = 16, kMemoryLevel = 8;
  if (::deflateInit2(stream_.get(), Z_BEST_COMPRESSION, Z_DEFLATED, kWindowBits + kGzipFormat, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    stream_.reset();
}

SmallGzip::~SmallGzip() {
  if (stream_) ::deflateEnd(stream_.get());
}

bool SmallGzip::deflate(std::string_view text, int mode) {
  if (!stream_) return false;
  stream_->next_in = reinterpret_cast<const Bytef*>(text.data());
  stream_->avail_in = static_cast<uInt>(text.size());
  std::array<char, 16 * 1024> piece;
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_->avail_out = static_cast<uInt>(piece.size());
    ::deflate(stream_.get(), mode);
    bytes_.append(piece.data(), piece.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
  if (bytes_.size() <= most_) return true;
  ::deflateEnd(stream_.get());
  stream_.reset();
  bytes_ = {};
  return false;
}

bool SmallGzip::put(std::string_view text) { return deflate(text, Z_NO_FLUSH); }

std::string SmallGzip::finish() {
  if (!deflate({}, Z_FINISH)) return {};
  ::deflateEnd(stream_.get());
  stream_.reset();
  return std::exchange(bytes_, {});
}

}  // namespace tacho
