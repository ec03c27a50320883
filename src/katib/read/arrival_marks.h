// When rows of a log were first seen: rows up to a number, and the time. Whoever follows the log closely keeps them;
// whoever reports the same rows later asks. A few marks are kept, more of them for recent rows. Not thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "katib/read/row_shaper.h"

namespace tacho {

class ArrivalMarks {
 public:
  // All rows of the attempt up to `rows` (counted from its beginning, not from the last call) had come by `time_us`.
  void add(int64_t rows, int64_t time_us);
  void clear() { marks_.clear(); }  // a new attempt
  // For rows [first, first + count): runs with their times; `otherwise_us` where nothing is known.
  std::vector<ArrivalRun> runs(int64_t first, int64_t count, int64_t otherwise_us) const;

 private:
  static constexpr size_t kMost = 2048;
  struct Mark {
    int64_t rows, time_us;
  };
  std::vector<Mark> marks_;
};

}  // namespace tacho
