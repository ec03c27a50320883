#include "procfs/diskstats.h"

namespace tacho {

bool DiskStatsLines::next(DiskLine& line) {
  while (!scan_.done()) {
    const bool numbers = scan_.number(line.major) && scan_.number(line.minor);
    line.name = numbers ? scan_.word() : std::string_view{};
    line.counters = scan_.line();
    if (!line.name.empty()) return true;
  }
  return false;
}

bool parse_disk_counters(std::string_view text, DiskCounters& out) {
  Scanner scan(text);
  int64_t merged = 0;
  return scan.number(out.reads) && scan.number(merged) && scan.number(out.sectors_read) && scan.number(out.read_ms) &&
         scan.number(out.writes) && scan.number(merged) && scan.number(out.sectors_written) &&
         scan.number(out.write_ms) && scan.number(out.in_flight) && scan.number(out.io_ms) &&
         scan.number(out.weighted_ms);
}

}  // namespace tacho
