#include "deliver/compress.h"

#include "codec/gzip.h"

namespace tacho {

std::string gzip(std::string_view text) {
  std::string bytes;
  GzipEncoder encoder;
  if (!encoder.open()) return bytes;
  const auto drain = [&] {
    bytes += encoder.pending();
    encoder.sent(encoder.pending().size());
  };
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, GzipEncoder::kFlushBytes);
    // The encoder promises to take this much after a flush and with an empty buffer.
    if (!encoder.put(piece) || !encoder.flush()) return {};
    drain();
    text.remove_prefix(piece.size());
  }
  if (!encoder.finish()) return {};
  drain();
  return bytes;
}

}  // namespace tacho
