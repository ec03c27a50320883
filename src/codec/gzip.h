// A gzip stream (RFC 1952, zlib) that is made piece by piece into one fixed buffer. mtime 0 and no name, so that equal
// rows give equal files. After flush() everything fed so far can be read by zcat, also when the stream never ends. Text
// is only taken when its compressed form surely fits: a place that takes nothing for a while (full disk) loses rows,
// but never the integrity of the stream. About 200 KiB, all of it allocated by open(). Not thread-safe.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

struct z_stream_s;

namespace tacho {

class GzipEncoder {
 public:
  static constexpr size_t kFlushBytes = 16 * 1024;

  GzipEncoder();
  ~GzipEncoder();
  GzipEncoder(GzipEncoder&&) noexcept;
  GzipEncoder& operator=(GzipEncoder&&) = delete;

  Status open();
  // False when there is no room: pending() must go out first.
  bool put(std::string_view text);
  bool flush();
  size_t unflushed_bytes() const;  // of text; flush before they are more than kFlushBytes
  bool finish();                   // the trailer; nothing can be put afterwards

  // Bytes that are ready, and how many of them went out.
  std::string_view pending() const { return {buffer_.data() + sent_, filled_ - sent_}; }
  void sent(size_t bytes);

 private:
  bool deflate_all(std::string_view text, int mode);

  std::unique_ptr<z_stream_s> stream_;
  std::vector<char> buffer_;
  size_t filled_ = 0, sent_ = 0;
  size_t fed_through_ = 0;  // bytes of text that surely left zlib's own buffers
};

}  // namespace tacho
