// The processes of a run that have ended, as few lines as were asked for: beyond that the largest by CPU time are kept
// apart, the others are merged by name, and names that no longer fit become one line. Its memory is taken once and does
// not grow with the number of processes. Not thread-safe; add() allocates only when it merges.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/process_record.h"

namespace tacho {

class ProcessTable {
 public:
  explicit ProcessTable(size_t most);

  void add(const ProcessRecord& record);
  // At most so many lines besides other(). Who lives is kept apart before who has ended.
  void merge(size_t most);

  std::span<ProcessRecord> records() { return records_; }
  const std::optional<ProcessRecord>& other() const { return other_; }
  size_t most() const { return most_; }

 private:
  size_t kept_apart(size_t most, size_t singles, size_t groups) const;
  void merge_by_name(size_t kept);
  void drop_smallest_names(size_t kept, size_t most);

  size_t most_, room_;
  std::vector<ProcessRecord> records_;
  std::optional<ProcessRecord> other_;
};

}  // namespace tacho
