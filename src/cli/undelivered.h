// Which runs still have rows in a spool of this user: those stay in the store until they are delivered.
// Thread-safe (no state).
#pragma once
#include <string>
#include <vector>

namespace tacho {

class UndeliveredRuns {
 public:
  // Reads the description of every run in every spool.
  UndeliveredRuns();
  // Whether one of them names this id, as the run or as its folder in the store. A word too many keeps a run; none is
  // lost for a word that was not understood.
  bool has(const std::string& id) const;

 private:
  std::vector<std::string> descriptions_;
};

}  // namespace tacho
