// KeptDirectory: a folder of the kernel that is kept open and listed again from its start, without allocating. Made for
// the numeric names in /proc. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.h"

namespace tacho {

class KeptDirectory {
 public:
  // The buffer decides how many calls a listing takes: 32 KiB hold about 1000 names.
  explicit KeptDirectory(std::string path, size_t buffer_bytes = 32 * 1024);

  // Calls visit(int64_t number) for every name that is a number. False when the folder cannot be read; errno tells.
  template <class Visit>
  bool visit_numbers(Visit&& visit) {
    if (!rewind()) return false;
    for (;;) {
      const int64_t filled = fill();
      if (filled <= 0) return filled == 0;
      for (size_t at = 0; at < static_cast<size_t>(filled);)
        if (const int64_t number = next_number(at); number >= 0) visit(number);
    }
  }
  // How many names are numbers; nothing when the folder cannot be read.
  std::optional<int64_t> count_numbers();

 private:
  bool rewind();
  int64_t fill();                   // bytes of entries in the buffer; 0 at the end, −1 on failure
  int64_t next_number(size_t& at) const;  // of the entry at `at`, which moves on; −1: not a number

  std::string path_;
  Fd fd_;
  std::vector<char> buffer_;
};

}  // namespace tacho
