// When a log had grown how far: a place (Reader::passed) and the time. Whoever follows the log closely keeps them, and
// need not look at its rows for that; whoever reports the rows later asks. A few marks are kept, more of them for
// recent places. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "katib/read/row_shaper.h"

namespace tacho {

class ArrivalMarks {
 public:
  struct Mark {
    uint64_t place;
    int64_t time_us;
  };
  // All that is before `place` had come by `time_us`.
  void add(uint64_t place, int64_t time_us);
  void clear() { marks_.clear(); }  // a new attempt
  // The first mark behind `place`; nothing where it was not seen yet.
  std::optional<Mark> behind(uint64_t place) const;

 private:
  static constexpr size_t kMost = 2048;
  std::vector<Mark> marks_;
};

// The arrival times of rows that follow each other in a source.
class ArrivalRuns {
 public:
  // Nothing: each row comes as it is read.
  explicit ArrivalRuns(const ArrivalMarks* marks) : marks_(marks) {}
  void add(uint64_t place);
  std::vector<ArrivalRun> take() { return std::move(runs_); }

 private:
  const ArrivalMarks* marks_;
  uint64_t end_ = 0;  // of the run: rows before it came at that time
  std::vector<ArrivalRun> runs_;
};

}  // namespace tacho
