// /proc/vmstat: pswpin and pswpout, pgmajfault, and oom_kill (since Linux 4.13). Pure; no I/O, no allocation.
//   pswpin 0
//   pswpout 0
//   pgmajfault 1181
//   oom_kill 0
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

struct VmStat {
  int64_t major_faults = -1;  // −1: not in the file
  int64_t oom_kills = -1;
  int64_t swapped_in = -1, swapped_out = -1;  // pages
};

VmStat parse_vmstat(std::string_view text);

}  // namespace tacho
