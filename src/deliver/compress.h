// Text as a gzip file: mtime 0 and no name, so that equal text gives equal bytes. No shared state.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "codec/gzip.h"

namespace tacho {

inline constexpr size_t kLargestInOnePiece = size_t{128} << 10;  // a minute at a tick a second is a tenth of that

std::string gzip(std::string_view text);

// The same for a text that comes in pieces, in 200 KiB of memory and a tenth larger.
class GzipPieces {
 public:
  GzipPieces() : good_(encoder_.open()) {}
  void put(std::string_view text);
  std::string take() { return std::exchange(bytes_, {}); }  // what is ready so far
  std::string finish();                                     // the rest; empty when there was no memory for it

 private:
  void take_out();

  GzipEncoder encoder_;
  bool good_;
  std::string bytes_;
};

}  // namespace tacho
