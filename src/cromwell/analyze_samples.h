// Samples of all attempts, in any order, given back attempt by attempt in the order of time, each once: exports are
// unordered, and rows may be there twice (cromwell-bigquery.md §2.2). What does not fit into a fixed memory is sorted
// in pieces into a temporary file and merged. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cromwell/analyze_tables.h"
#include "os/fd.h"

namespace tacho {

struct TaskSample {
  uint32_t attempt = 0, run = 0;
  int64_t time_us = 0, seq = -1;    // -1: the table has none
  double cores = 0, memory_gb = 0;  // NaN: unknown
  std::span<const DiskSample> disks;
};

class SampleSorter {
 public:
  explicit SampleSorter(size_t memory_bytes = size_t{12} << 20) : memory_bytes_(memory_bytes) {}

  Status add(const TaskSample& sample);
  // Every sample once. Afterwards it is empty.
  Status give(const std::function<void(const TaskSample&)>& take);
  uint64_t repeated() const { return repeated_; }
  size_t pieces() const { return pieces_.size(); }  // in the file

 private:
  struct Piece {
    int64_t from, to;  // bytes in the file
  };
  void sort();
  Status spill();

  size_t memory_bytes_;
  std::string bytes_;              // records, one behind the other
  std::vector<uint32_t> records_;  // where they begin
  Fd file_;
  int64_t file_bytes_ = 0;
  std::vector<Piece> pieces_;
  uint64_t repeated_ = 0;
};

}  // namespace tacho
