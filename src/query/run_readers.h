// Reads many runs by several threads, makes rows of them, and hands these over in the runs' order, a few at a time, so
// that memory stays small however many there are. Used by one thread.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "query/run_batch.h"
#include "query/run_list.h"
#include "query/schema.h"

namespace tacho {

class RunReaders {
 public:
  // The list must outlive it. parts: the tables that are to be filled.
  RunReaders(std::string store_dir, std::span<const ListedRun> runs, uint32_t parts);
  ~RunReaders();
  // Without parts at the end.
  RunBatch next();

 private:
  void work();
  void read(StoreReader& reader, const ListedRun& listed, RunBatch& batch) const;

  std::string store_dir_;
  std::span<const ListedRun> runs_;
  uint32_t parts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t taken_ = 0, given_ = 0;  // batches that a thread has begun, and that were handed over
  bool stopped_ = false;
  std::map<size_t, RunBatch> ready_;
  std::vector<std::thread> threads_;
};

}  // namespace tacho
