#include "codec/gunzip.h"

#define ZLIB_CONST  // next_in may point to const text
#include <zlib.h>

#include <array>

namespace tacho {

GzipDecoder::GzipDecoder() = default;
GzipDecoder::~GzipDecoder() {
  if (stream_) ::inflateEnd(stream_.get());
}

bool GzipDecoder::decode(std::string_view bytes, std::string& text) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (!stream_) {
    stream_ = std::make_unique<z_stream>();
    *stream_ = {};
    damaged_ = ::inflateInit2(stream_.get(), kGzipOnly) != Z_OK;
  }
  std::array<char, 16 * 1024> out;
  stream_->next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream_->avail_in = static_cast<uInt>(bytes.size());
  bool more = true;
  while (!damaged_ && more) {
    stream_->next_out = reinterpret_cast<Bytef*>(out.data());
    stream_->avail_out = static_cast<uInt>(out.size());
    const int result = ::inflate(stream_.get(), Z_NO_FLUSH);
    text.append(out.data(), out.size() - stream_->avail_out);
    if (result == Z_STREAM_END) ::inflateReset(stream_.get());  // another member may follow
    else if (result != Z_OK && result != Z_BUF_ERROR) damaged_ = true;
    more = stream_->avail_in > 0 || stream_->avail_out == 0;
  }
  return !damaged_;
}

bool GzipDecoder::is_whole() const { return !damaged_ && stream_ && stream_->total_in == 0; }

}  // namespace tacho
