#include "deliver/compress.h"

#include <libdeflate.h>

#include <memory>
#include <utility>

namespace tacho {
namespace {

constexpr int kBestLevel = 12;  // some milliseconds a batch, and a tenth smaller than zlib's best
constexpr int kLeanLevel = 9;   // where the best would need 10 MiB for its tables; a twentieth larger

}  // namespace

std::string gzip(std::string_view text) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      ::libdeflate_alloc_compressor(text.size() <= kLargestInOnePiece ? kBestLevel : kLeanLevel),
      ::libdeflate_free_compressor);
  if (!compressor) return {};
  std::string bytes(::libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  bytes.resize(::libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), bytes.data(), bytes.size()));
  return bytes;
}

void GzipPieces::put(std::string_view text) {
  while (good_ && !text.empty()) {
    const std::string_view now = text.substr(0, GzipEncoder::kFlushBytes);
    good_ = encoder_.put(now) && (encoder_.unflushed_bytes() < GzipEncoder::kFlushBytes || encoder_.flush());
    take_out();
    text.remove_prefix(now.size());
  }
}

std::string GzipPieces::finish() {
  good_ = good_ && encoder_.finish();
  take_out();
  return good_ ? std::move(bytes_) : std::string();
}

void GzipPieces::take_out() {
  bytes_.append(encoder_.pending());
  encoder_.sent(encoder_.pending().size());
}

}  // namespace tacho
