#include "procfs/stat.h"

#include "base/saturate.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

// The four numbers that every kernel has must be there; later ones are 0 where an old kernel leaves them out.
bool parse_ticks(Scanner& scan, CpuTicks& ticks) {
  if (!(scan.number(ticks.user) && scan.number(ticks.nice) && scan.number(ticks.system) && scan.number(ticks.idle)))
    return false;
  if (scan.number(ticks.iowait) && scan.number(ticks.irq) && scan.number(ticks.softirq)) scan.number(ticks.steal);
  return true;
}

}  // namespace

int64_t CpuTicks::busy() const {
  return saturating_add(saturating_add(saturating_add(user, nice), saturating_add(irq, softirq)), system);
}

int64_t CpuTicks::total() const { return saturating_add(saturating_add(busy(), idle), saturating_add(iowait, steal)); }

ProcStat parse_proc_stat(std::string_view text, std::span<CpuTicks> cores) {
  ProcStat out;
  Scanner scan(text);
  while (!scan.done()) {
    switch (scan.peek()) {
      case 'c':
        if (scan.literal("cpu")) {
          const bool all = scan.peek() == ' ';
          if (all) {
            out.has_all = parse_ticks(scan, out.all);
            if (!out.has_all) out.all = {};
          } else if (static_cast<unsigned>(scan.peek()) - '0' <= 9) {
            const size_t index = static_cast<size_t>(out.cores++);
            if (index < cores.size()) {
              cores[index] = {};
              scan.number(cores[index].number);
              parse_ticks(scan, cores[index]);
            }
          }
        } else if (scan.literal("ctxt ")) {
          scan.number(out.ctxt);
        }
        break;
      case 'b':
        if (scan.literal("btime ")) scan.number(out.btime_s);
        break;
      case 'p':
        if (scan.literal("processes ")) {
          scan.number(out.forks);
          return out;  // softirq and procs_* follow; nothing of them is wanted
        }
        break;
      default: break;
    }
    scan.line();
  }
  return out;
}

}  // namespace tacho
