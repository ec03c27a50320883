// A row tells when it was written. How long it took is another matter where the machine slept in between, or its clock
// was set forward: run.json, which is renewed with each row, knows what all of them took. Not thread-safe.
#pragma once
#include <map>
#include <string>

#include "model/row.h"
#include "model/run.h"

namespace tacho {

class Leaps {
 public:
  // Reads the rows once, as far as run.json knows of them, unless it says that nothing of the kind happened.
  Leaps(const std::string& rows_path, const Run& run, int64_t rows);
  // Takes from its interval the time that did not pass.
  void take_from(Row& row) const;

 private:
  std::map<int64_t, int64_t> leaps_ns_;  // by the row's index
};

}  // namespace tacho
