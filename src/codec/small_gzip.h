// Gzip that is made piece by piece as long as it stays small, for bytes inside of a page. On zlib. Not thread-safe.
#pragma once
#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace tacho {

class SmallGzip {
 public:
  explicit SmallGzip(size_t most);  // bytes, compressed
  ~SmallGzip();
  SmallGzip(const SmallGzip&) = delete;
  SmallGzip& operator=(const SmallGzip&) = delete;

  // False once it is more than allowed: then nothing is kept and nothing more taken.
  bool put(std::string_view text);
  // All of it, with the best compression that gzip has; empty when it was too much.
  std::string finish();

 private:
  bool deflate(std::string_view text, int mode);

  size_t most_;
  std::unique_ptr<z_stream_s> stream_;  // null: given up, or finished
  std::string bytes_;
};

}  // namespace tacho
