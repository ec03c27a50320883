// CPU use of each core between two readings of /proc/stat, in percent (cromwell-bigquery.md 1.6). Busy is all but idle:
// time spent waiting for I/O and stolen time are included, as in existing rows. Not thread-safe; no allocation while
// the number of CPUs stays the same.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/detail.h"

namespace tacho {

class CoreRates {
 public:
  // Takes a reading; the first one is the base. CPUs are identified by their number: a new one has a value from its
  // second reading on, one that is gone has none.
  void update(std::span<const CoreDetail> cores);

  std::span<const double> percent() const { return percent_; }      // one a CPU that is in both readings
  std::optional<double> iowait_percent() const { return iowait_; }  // of all CPUs together
  std::optional<double> steal_percent() const { return steal_; }

 private:
  struct Core {
    CoreDetail last;
    double percent = 0;  // repeated while no tick passes
  };
  std::vector<Core> cores_, next_;
  std::vector<double> percent_;
  std::optional<double> iowait_, steal_;
};

}  // namespace tacho
