// The numeric names in a folder of /proc (pids, tids, fds), read with getdents64 into a buffer on the stack: no
// allocation, and the folder's descriptor can be kept open. Thread-safe on different descriptors.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tacho {

class NumericEntries {
 public:
  explicit NumericEntries(int dir_fd);  // starts again at the folder's beginning
  // From this place on, no more than so many bytes of names at a time.
  NumericEntries(int dir_fd, int64_t place, size_t bytes);
  // The next number; false at the end or when the folder cannot be read.
  bool next(int& number);
  bool failed() const { return filled_ < 0; }         // once next() said false: it was not the end
  int64_t next_place() const { return next_place_; }  // of the entry behind that which next() gave
  uint64_t inode() const { return inode_; }  // of the entry that next() gave: another process or thread has another one

 private:
  int fd_;
  size_t bytes_ = sizeof buffer_;
  int filled_ = 0, at_ = 0;
  uint64_t inode_ = 0;
  int64_t next_place_ = -1;
  alignas(8) char buffer_[8192];
};

}  // namespace tacho
