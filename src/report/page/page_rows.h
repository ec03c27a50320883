// The rows that the page gives back for download: metrics.csv byte for byte while that is small, else every n-th row as
// it stands in the file, n a power of two. Constant memory. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/small_gzip.h"

namespace tacho {

class PageRows {
 public:
  // Both in bytes of gzip: up to `whole` the file itself, above it rows of at most `part`.
  PageRows(size_t whole, size_t part);

  void take(std::string_view bytes);  // all bytes of the file
  void add(std::string_view line);    // each row of it, without its end
  // Once, behind the last row. `complete`: no byte of the file is missing.
  void finish(bool complete);

  const std::string& gzip() const { return gzip_; }
  bool is_whole() const { return whole_; }
  int64_t rows() const { return rows_; }
  int64_t kept() const { return whole_ ? rows_ : static_cast<int64_t>(lines_.size()); }

 private:
  void thin_out();

  size_t part_;
  SmallGzip whole_gzip_;
  bool small_ = true, whole_ = false;
  std::string header_, gzip_;
  std::vector<std::string> lines_;
  size_t line_bytes_ = 0;
  int64_t rows_ = 0, stride_ = 1;
};

}  // namespace tacho
