// /proc/diskstats, and the table of devices over two readings of it: totals never fall.
#include "probe/disk_table.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::DiskStatsLines lines(text);
  for (tacho::DiskLine line; lines.next(line);) {
    require(!line.name.empty() && is_inside(line.name, text) && is_inside(line.counters, text));
    tacho::DiskCounters counters;
    if (tacho::parse_disk_counters(line.counters, counters)) require(counters.reads >= 0 && counters.weighted_ms >= 0);
  }
  static const tacho::Roots kNone{"/nonexistent", "/nonexistent", "/nonexistent"};
  tacho::DiskTable table(kNone);
  table.keep_all();
  // The two halves of the input stand for two readings.
  const size_t half = text.find("\n\n");
  table.update(text.substr(0, half));
  const tacho::DiskTotals before = table.totals();
  table.update(half == std::string_view::npos ? text : text.substr(half));
  const tacho::DiskTotals& after = table.totals();
  require(after.read_bytes >= before.read_bytes && after.write_bytes >= before.write_bytes);
  require(after.busy_ms >= before.busy_ms && after.completed >= before.completed);
}
