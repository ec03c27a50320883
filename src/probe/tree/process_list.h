// The processes of the machine, or some of them, with what each uses now, for people who look at them. A process whose
// CPU clock has not moved is not read again, so that a thousand idle ones cost a system call each.
// Relies on /proc/PID/{stat,io,cmdline}. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "os/fd.h"
#include "os/file.h"

namespace tacho {

struct ListedProcess {
  pid_t pid = 0, parent = 0;
  uint64_t start_time = 0;
  std::string name;            // its command line, or the kernel's name in brackets; raw bytes
  std::string comm;            // the kernel's name
  double cpu_cores = -1;       // since the last look; −1: not known yet
  int64_t rss_bytes = -1;      // −1: not known
  double io_bytes_per_s = -1;  // −1: not known, or not for us to know
  int64_t clock_ns = -1, io_bytes = -1, io_stamp_ns = 0;
  bool seen = false;
};

class ProcessList {
 public:
  explicit ProcessList(const std::string& proc);
  // Those of this sorted list; an empty one: every process. False when there is no /proc to look at.
  bool update(std::span<const pid_t> only, int64_t now_ns);
  std::span<const ListedProcess> processes() const { return processes_; }  // by pid

 private:
  void list_all();
  void look_at(ListedProcess& process, int64_t now_ns);
  bool read_stat(ListedProcess& process);
  void read_command(ListedProcess& process);
  void read_io(ListedProcess& process, int64_t now_ns);

  Fd proc_fd_;
  std::string root_;
  ReadBuffer buffer_;
  std::vector<pid_t> pids_;
  std::vector<ListedProcess> processes_, next_;
  int64_t stamp_ns_ = 0;  // of the last look
};

}  // namespace tacho
