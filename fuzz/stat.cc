// /proc/stat: ticks are never negative and never overflow.
#include "procfs/stat.h"

#include <array>

#include "target.h"

void fuzz_one(std::string_view text) {
  std::array<tacho::CpuTicks, 4> cores;
  const tacho::ProcStat stat = tacho::parse_proc_stat(text, cores);
  require(stat.cores >= 0 && stat.ctxt >= -1 && stat.forks >= -1 && stat.btime_s >= -1);
  require(stat.all.busy() >= 0 && stat.all.total() >= stat.all.busy());
  for (const tacho::CpuTicks& core : cores) require(core.total() >= core.busy());
}
