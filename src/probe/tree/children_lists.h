// The children of one process, exactly. The kernel keeps a list for each thread that forked (task/TID/children,
// CONFIG_PROC_CHILDREN), hands it out entry by entry, and skips a living child when another is reaped at that very
// moment; a thread that ends gives its children to another one. So what is not empty is read until two readings in a
// row agree. The number of threads is asked anew each time (the link count of task/), since a process that runs on
// another CPU may have started one that no other file was read after. Descriptors are kept open; a thread is known by
// its number and the inode of its folder, which another thread with the same number does not share. Not thread-safe; no
// allocation in a steady tick.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "os/fd.h"
#include "os/file.h"

namespace tacho {

class ChildrenLists {
 public:
  enum class Outcome {
    complete,
    changing,  // it never stood still: what is there was found, perhaps not all
    gone,      // the process has ended, or nothing of it may be read
  };
  // Appends to children. The folder is opened by the process's number: opened() says that this reading did so, and the
  // caller makes sure that the number was still this process's. keep: leaves the files open.
  Outcome read(int proc_fd, pid_t pid, bool keep, ReadBuffer& buffer, std::vector<pid_t>& children);
  bool opened() const { return opened_; }
  // Of the last reading: threads, where there are several, and children.
  uint64_t fingerprint() const { return fingerprint_; }
  void close();

 private:
  struct Thread {
    int number;
    uint64_t inode;
    Fd list;
  };
  bool read_main(pid_t pid, ReadBuffer& buffer, std::vector<pid_t>& children);
  bool read_threads(ReadBuffer& buffer, std::vector<pid_t>& children);

  Fd tasks_, main_;
  std::vector<Thread> threads_, before_;  // sorted as the kernel lists them; of a process with one thread none
  uint64_t fingerprint_ = 0;
  bool opened_ = false;
};

}  // namespace tacho
