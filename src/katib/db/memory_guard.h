// What clients can make the process hold is bounded: gRPC itself bounds neither a header without an end nor what many
// messages that are half sent take together. While the memory of this process is above the limit, one connection after
// the other is closed, first who sent most since it was last well below; its client connects again by itself.
// Thread-safe.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "os/fd.h"

namespace tacho {

// Half of what this process may have: of the machine's memory, or of its container's.
int64_t memory_for_clients();

class MemoryGuard {
 public:
  explicit MemoryGuard(int64_t limit_bytes);
  ~MemoryGuard();
  MemoryGuard(const MemoryGuard&) = delete;
  MemoryGuard& operator=(const MemoryGuard&) = delete;

  // A connection that somebody else owns and closes.
  void add(const Fd& client);

 private:
  // The number may be another's when its owner has closed it; the socket's own number is not.
  struct Connection {
    int fd;
    ino_t inode;
    uint64_t received_before;
  };
  void run();
  void look();
  void note_received();
  void close_greatest();
  int64_t in_use();

  const int64_t limit_bytes_;
  std::mutex mutex_;
  std::vector<Connection> connections_;
  int64_t noted_ns_ = 0, trimmed_ns_ = 0;
  Fd stop_;
  std::thread thread_;
};

}  // namespace tacho
