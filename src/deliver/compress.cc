#include "deliver/compress.h"

#include <libdeflate.h>

#include <memory>

namespace tacho {
namespace {

constexpr int kBestLevel = 12;  // some milliseconds a batch, and a tenth smaller than zlib's best
constexpr int kLeanLevel = 9;   // where the best would need 10 MiB for its tables; a twentieth larger
constexpr size_t kLargestForBest = size_t{128} << 10;  // a minute at a tick a second is a tenth of that

}  // namespace

std::string gzip(std::string_view text) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      ::libdeflate_alloc_compressor(text.size() <= kLargestForBest ? kBestLevel : kLeanLevel), ::libdeflate_free_compressor);
  if (!compressor) return {};
  std::string bytes(::libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  bytes.resize(::libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), bytes.data(), bytes.size()));
  return bytes;
}

}  // namespace tacho
