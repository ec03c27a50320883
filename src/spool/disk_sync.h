// Makes files of the spool survive a power cut, on threads of its own: fdatasync on a disk that the job keeps busy may
// take seconds, and no sample waits for it. Each file is synced by itself, as POSIX wants it, but all of a request at
// once: one after the other, each would wait for a flush of the disk. The threads are started with the first request
// and never joined. For one thread.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

class DiskSync {
 public:
  DiskSync();
  ~DiskSync();
  DiskSync(const DiskSync&) = delete;
  DiskSync& operator=(const DiskSync&) = delete;

  // Syncs the files, the folder's list of seals and the folder itself; a file that is gone meanwhile was sent.
  void request(const std::string& folder, std::vector<std::string> files);
  // Waits until all requests are done; false when that took longer.
  bool wait(int64_t patience_ns);
  // What the disk refused since the last call.
  Status status();

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace tacho
