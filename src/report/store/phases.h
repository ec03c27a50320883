// Phases of a run: marks.csv says when, the rows of metrics.csv what was used. One pass over the rows; memory for the
// phases only. Thread-safe (no state).
#pragma once
#include <string>
#include <vector>

#include "model/row.h"
#include "model/run.h"
#include "report/store/marks.h"

namespace tacho {

// From start to end of the run, in order, without overlaps. end_s: infinity where it is not known yet.
std::vector<Phase> phases_of(const Marks& marks, double start_s, double end_s);

// Adds rows to phases. What an interval added is divided by time among the phases that it touches; a level belongs to
// the phase in which it was read.
class PhaseFold {
 public:
  PhaseFold(std::vector<Phase>& phases, const std::vector<std::string>& columns, bool machine);
  void add(const Row& row);
  // Means; phases that were open end at the last row.
  void finish();

 private:
  void add_share(size_t phase, const Row& row, double seconds, double share);

  std::vector<Phase>& phases_;
  struct Sums {
    double gpu = 0, gpu_s = 0;
  };
  std::vector<Sums> sums_;
  size_t user_ = 0, system_ = 0, memory_ = 0, read_ = 0, written_ = 0, gpu_ = 0;  // columns; 0: none
  double last_s_ = 0;
};

// Reads both files of a run folder and fills run.phases and run.marks_dropped.
void fold_phases(const std::string& folder, Run& run);

}  // namespace tacho
