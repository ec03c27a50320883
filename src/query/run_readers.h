// Reads many runs by several threads and hands them over in their order, a few at a time, so that memory stays small
// however many there are. Used by one thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "query/run_list.h"
#include "query/schema.h"

namespace tacho {

struct ReadRun {
  const ListedRun* listed = nullptr;
  Result<RunRow> row;
};

class RunReaders {
 public:
  // The list must outlive it. parts: the tables that are to be filled.
  RunReaders(std::string store_dir, std::span<const ListedRun> runs, uint32_t parts);
  ~RunReaders();
  // Nothing at the end.
  std::vector<ReadRun> next();

 private:
  void work();
  ReadRun read(const ListedRun& listed) const;

  std::string store_dir_;
  std::span<const ListedRun> runs_;
  uint32_t parts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t taken_ = 0, given_ = 0;  // batches that a thread has begun, and that were handed over
  bool stopped_ = false;
  std::map<size_t, std::vector<ReadRun>> ready_;
  std::vector<std::thread> threads_;
};

}  // namespace tacho
