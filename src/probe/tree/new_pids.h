// Which numbers processes may have that were started since the last time: the kernel gives numbers out in order, so
// they lie behind the last one given (/proc/loadavg, field 5), and nobody else's process need be looked at. Every
// process there is counts as new when that cannot be relied on: at first, where numbers begin anew, where more may have
// been given than there are, where more processes were started than numbers given in order, since one was chosen then
// (clone3 set_tid), and when the caller asks: now and then, because in a pid namespace of its own that cannot be told.
// A number is given some time before its process can be seen, so that those of the last second are always among them.
// Most of them are nobody's any more beside many that fork: the list of /proc is read from the first of them on, where
// the place of a process in it is its number and a constant (as in every kernel since 2.6). Numbers of threads, and of
// nobody, may be among them. Not thread-safe; no allocation in a steady tick.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "os/file.h"

namespace tacho {

class NewPids {
 public:
  explicit NewPids(const std::string& proc);
  // Replaces what is in pids. forks: processes and threads started on the machine so far, of this moment or shortly
  // before; below 1 when it is not known. True when every process was listed.
  bool collect(int proc_fd, ReadBuffer& buffer, int64_t forks, int64_t now_ns, bool all, std::vector<pid_t>& pids);

 private:
  struct Mark {
    int64_t last_pid = -1, forks = 0, stamp_ns = 0;
  };
  bool in_order(const Mark& now, int64_t threads) const;
  void list_all(int proc_fd, ReadBuffer& buffer, std::vector<pid_t>& pids);
  bool list_between(int proc_fd, int64_t older, int64_t newest, std::vector<pid_t>& pids) const;

  KeptFile loadavg_, pid_max_;
  bool reliable_;
  bool counts_alike_;      // the kernel's count of forks and these numbers are of the same processes
  Mark older_, newer_;     // a second apart at least; numbers behind the older one are looked at
  int64_t processes_ = 0;  // when all were listed
  int64_t most_ = 0;       // numbers there are, at that time; 0: not known
  int64_t shift_ = -1;     // of the place of a process in the list of all, from its number; −1: there is none
};

}  // namespace tacho
