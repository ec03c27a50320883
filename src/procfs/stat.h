// /proc/stat (all Linux since 2.6.33): CPU time of the machine, context switches, forks. Pure; no I/O, no allocation.
//   cpu  3160 0 1986 212383 341 0 35 17 0 0
//   cpu0 743 0 664 107490 17 0 5 4 0 0
//   intr 172567 0 0 …
//   ctxt 335970
//   btime 1794746103
//   processes 5465
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace tacho {

// In USER_HZ ticks. guest is inside user and guest_nice inside nice, so neither is kept.
struct CpuTicks {
  int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  int64_t number = 0;     // of a cpuN line: N; a CPU that is offline has no line
  int64_t busy() const;   // user+nice+system+irq+softirq
  int64_t total() const;  // all eight
};

struct ProcStat {
  CpuTicks all;  // the line "cpu"
  bool has_all = false;
  int64_t cores = 0;     // number of cpuN lines
  int64_t ctxt = -1;     // −1: not in the file
  int64_t forks = -1;    // "processes": processes and threads ever started
  int64_t btime_s = -1;  // boot time, UNIX seconds
};

// `cores` is filled with the cpuN lines in their order, as many as fit; ProcStat::cores says how many there are.
ProcStat parse_proc_stat(std::string_view text, std::span<CpuTicks> cores = {});

}  // namespace tacho
