#include "procfs/vmstat.h"

#include "procfs/scan.h"

namespace tacho {

VmStat parse_vmstat(std::string_view text) {
  VmStat out;
  Scanner scan(text);
  while (!scan.done() && (out.major_faults < 0 || out.oom_kills < 0 || out.swapped_in < 0 || out.swapped_out < 0)) {
    if (scan.peek() == 'p' && scan.literal("pgmajfault ")) scan.number(out.major_faults);
    else if (scan.peek() == 'p' && scan.literal("pswpin ")) scan.number(out.swapped_in);
    else if (scan.peek() == 'p' && scan.literal("pswpout ")) scan.number(out.swapped_out);
    else if (scan.peek() == 'o' && scan.literal("oom_kill ")) scan.number(out.oom_kills);
    scan.line();
  }
  return out;
}

}  // namespace tacho
