// What burn_random_tree and burn_walk share: a file, mapped by every process of the tree and by who watches it.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tacho::burner {

struct TreeLedger {
  std::atomic<int64_t> cpu_ns;          // that the processes say they used, told every few milliseconds
  std::atomic<int64_t> started, ended;  // processes, the root not among them
  std::atomic<int64_t> deadline_ns;     // on CLOCK_MONOTONIC: nobody begins anything new
  std::atomic<int64_t> reused;          // processes that got the number of one before them
  std::atomic<int64_t> forked_kib;      // resident in those who forked, each time: what a child has until its own end
                                        // or the program that it executes
  std::atomic<int32_t> recent[16];      // numbers of processes that ended
};

inline TreeLedger* map_ledger(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || ftruncate(fd, 4096) != 0) std::exit(2);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) std::exit(2);
  close(fd);
  return static_cast<TreeLedger*>(page);
}

}  // namespace tacho::burner
