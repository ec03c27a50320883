// The numeric names in a folder of /proc (pids, tids, fds), read with getdents64 into a buffer on the stack: no
// allocation, and the folder's descriptor can be kept open. Thread-safe on different descriptors.
#pragma once
#include <cstdint>
#include <utility>

namespace tacho {

class NumericEntries {
 public:
  explicit NumericEntries(int dir_fd);  // starts again at the folder's beginning
  // The next number; false at the end or when the folder cannot be read.
  bool next(int& number);
  uint64_t inode() const { return inode_; }  // of the entry that next() gave: another process or thread has another one

 private:
  int fd_;
  int filled_ = 0, at_ = 0;
  uint64_t inode_ = 0;
  alignas(8) char buffer_[8192];
};

}  // namespace tacho
