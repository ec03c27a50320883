// Parsers of the files of one process: /proc/PID/{stat,io,status,smaps_rollup} and task/TID/children. Pure, no
// allocation.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

// /proc/PID/stat, proc(5): `42 (a) b (c) S 1 42 42 0 -1 4194560 …`. The name may hold blanks, brackets and line ends,
// so parsing starts behind the last ')'. Times in clock ticks.
struct PidStat {
  pid_t pid = 0;
  std::string_view comm;
  char state = '?';
  pid_t ppid = 0, group = 0, session = 0;
  int64_t minor_faults = 0, child_minor_faults = 0;      // fields 10 and 11
  int64_t major_faults = 0, child_major_faults = 0;      // fields 12 and 13
  int64_t utime = 0, stime = 0, cutime = 0, cstime = 0;  // 14 to 17
  int64_t threads = 0;                                   // 20
  uint64_t start_time = 0;                               // 22: with the pid, the identity of a process
  int64_t virtual_bytes = 0;                             // 23
  int64_t rss_pages = 0;                                 // 24
  uint64_t stack_start = 0;                              // 28: another one after exec; 0 where it may not be seen
  uint64_t ignored = 0;                                  // 33: signals 1 to 31 that it ignores, a bit each
  int64_t blkio_ticks = 0;                               // 42: 0 unless kernel.task_delayacct=1
};
bool parse_pid_stat(std::string_view text, PidStat& out);

// /proc/PID/io: `read_bytes: 4096`, `write_bytes: 0`. Holds what reaped children did, too.
struct PidIo {
  int64_t read_bytes = 0, write_bytes = 0;
  bool operator==(const PidIo&) const = default;
};
// `rchar: 5`, `wchar: 0`, `syscr: 1`, `syscw: 0`: what it asked the kernel for, whether or not storage was read.
struct PidIoCalls {
  int64_t read_chars = 0, write_chars = 0, read_calls = 0, write_calls = 0;
  bool known = false;  // all four were there
};
bool parse_pid_io(std::string_view text, PidIo& out, PidIoCalls* calls = nullptr);

// /proc/PID/status: `VmHWM:     1234 kB`, `NSpid:  812  1`, `voluntary_ctxt_switches: 5`.
struct PidStatus {
  std::optional<int64_t> peak_rss_bytes;       // VmHWM; absent for zombies and kernel threads
  std::optional<int64_t> context_switches;     // of this thread only
  pid_t outermost_pid = 0, innermost_pid = 0;  // NSpid; 0 without it
};
bool parse_pid_status(std::string_view text, PidStatus& out);

// /proc/PID/smaps_rollup (Linux 4.14): `Rss:    2345 kB`, `Pss:   1234 kB`, `Private_Hugetlb:  0 kB`.
struct SmapsRollup {
  int64_t rss_bytes = 0, pss_bytes = 0;  // of the same moment
  int64_t huge_bytes = 0;                // private pages of hugetlbfs, which are in neither Rss nor Pss
  int64_t private_bytes = 0;             // Private_Clean and Private_Dirty
};
std::optional<SmapsRollup> parse_smaps_rollup(std::string_view text);

// /proc/PID/task/TID/children: `812 813 `, only the children forked by that thread. Calls visit(pid).
template <class Visit>
void parse_children(std::string_view text, Visit&& visit) {
  Scanner scan(text);
  for (int64_t pid = 0; scan.number(pid);)
    if (pid > 0 && pid <= INT32_MAX) visit(static_cast<pid_t>(pid));
}

}  // namespace tacho
