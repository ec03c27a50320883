// Takes a gzip stream apart again, piece by piece, several members in a row too. What a cut-off stream holds is given
// out before the end is missed. Not thread-safe.
#pragma once
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace tacho {

class GzipDecoder {
 public:
  GzipDecoder();
  ~GzipDecoder();
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  static bool is_gzip(std::string_view start) { return start.starts_with("\x1f\x8b"); }
  // Appends the text of `bytes`; false when the stream is damaged (what came before was appended).
  bool decode(std::string_view bytes, std::string& text);
  // Whether everything so far was whole members: the end of a stream may be here.
  bool is_whole() const;

 private:
  std::unique_ptr<z_stream_s> stream_;
  bool damaged_ = false;
};

}  // namespace tacho
