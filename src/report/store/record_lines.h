// The records of a CSV file, plain or gzip, finished or not, one after the other in constant memory. Not thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/gunzip.h"
#include "os/fd.h"

namespace tacho {

class RecordLines {
 public:
  // What is no plain file is refused: a pipe that nobody writes to would be waited for, and who reads a file reads it
  // more than once.
  Status open(const std::string& path);
  // The next one without its line end, good until the next call. Only whole lines: one without its LF is still being
  // written, or was torn by a kill. A quoted field may hold line ends.
  bool next(std::string_view& line);
  // What follows `line`, which next() gave last and which stays good: the line behind it whole, unless there is none.
  std::string_view behind(std::string_view& line);
  // Gets all bytes of the file, decompressed, in the order of reading; to be set before the first next().
  void tee(std::function<void(std::string_view)> taker) { taker_ = std::move(taker); }
  bool is_at_end() const { return ended_; }  // every byte was read
  void go_on() { ended_ = false; }

 private:
  bool fill();
  size_t read_piece();

  Fd file_;
  GzipDecoder gunzip_;
  bool begun_ = false, compressed_ = false, ended_ = false;
  std::vector<char> chunk_;
  std::function<void(std::string_view)> taker_;
  std::string text_;  // read and not yet given out
  size_t at_ = 0;
};

}  // namespace tacho
