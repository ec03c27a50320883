// What restarts of training removed from one event file: values that were written before a restart for steps that
// training then went through again. Values are known by the offset of their record. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "katib/read/event.h"

namespace tacho {

class PurgeLog {
 public:
  // Every event of the file in its order.
  void see(const Event& event, uint64_t offset);
  // Was the simple value of that tag, step and record removed later?
  bool removed(std::string_view tag, int64_t step, uint64_t offset) const;

 private:
  // (offset, step): removes steps ≥ `step` before `offset`. Both only grow along the list: a later mark with a lower or
  // equal step makes an earlier one needless.
  using Marks = std::vector<std::pair<uint64_t, int64_t>>;
  static void add(Marks& marks, uint64_t offset, int64_t step);
  static bool covers(const Marks& marks, int64_t step, uint64_t offset);

  double version_ = 0;  // 0: none was seen
  int64_t most_recent_ = -1;
  Marks all_;
  std::map<std::string, Marks, std::less<>> by_tag_;
};

}  // namespace tacho
