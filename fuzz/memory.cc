// /proc/meminfo, vmstat, loadavg and pressure: a value is −1 (not there) or not negative.
#include "procfs/loadavg.h"
#include "procfs/meminfo.h"
#include "procfs/pressure.h"
#include "procfs/vmstat.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  const tacho::MemInfo info = tacho::parse_meminfo(text);
  require(info.used() >= -1 && info.used() <= info.total);
  require(info.cached_and_reclaimable() >= -1);
  const tacho::VmStat vmstat = tacho::parse_vmstat(text);
  require(vmstat.major_faults >= -1 && vmstat.oom_kills >= -1);
  const tacho::LoadAverage load = tacho::parse_loadavg(text);
  require(load.load1_hundredths >= -1 && load.running >= -1 && load.threads >= -1);
  const tacho::Pressure pressure = tacho::parse_pressure(text);
  require(pressure.some_us >= -1 && pressure.full_us >= -1);
}
