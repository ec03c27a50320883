#include "procfs/vmstat.h"

#include "procfs/scan.h"

namespace tacho {

VmStat parse_vmstat(std::string_view text) {
  VmStat out;
  Scan scan(text);
  while (!scan.at_end() && (out.major_faults < 0 || out.oom_kills < 0)) {
    if (scan.peek() == 'p' && scan.take("pgmajfault ")) scan.number(out.major_faults);
    else if (scan.peek() == 'o' && scan.take("oom_kill ")) scan.number(out.oom_kills);
    scan.line();
  }
  return out;
}

}  // namespace tacho
