#include "deliver/compress.h"

#include <libdeflate.h>

#include <memory>

namespace tacho {
namespace {

constexpr int kBestLevel = 12;  // some milliseconds a batch, and a tenth smaller than zlib's best

}  // namespace

std::string gzip(std::string_view text) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      ::libdeflate_alloc_compressor(kBestLevel), ::libdeflate_free_compressor);
  if (!compressor) return {};
  std::string bytes(::libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  bytes.resize(::libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), bytes.data(), bytes.size()));
  return bytes;
}

}  // namespace tacho
