// /proc/diskstats (Documentation/admin-guide/iostats.rst). Pure; no I/O, no allocation.
//    254       0 vda 48495 7733 2853642 8064 10321 6340 958872 4475 0 5464 12907 5660 45 286552 340 689 27
//   major minor name reads merged sectors ms writes merged sectors ms in-flight io-ms weighted-ms [discards, flushes]
// A sector is 512 bytes, whatever the device's own sector size.
#pragma once
#include <cstdint>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

inline constexpr int64_t kSectorBytes = 512;

struct DiskCounters {
  int64_t reads = 0, sectors_read = 0, read_ms = 0, writes = 0, sectors_written = 0, write_ms = 0, in_flight = 0,
          io_ms = 0, weighted_ms = 0;
};

struct DiskLine {
  int64_t major = 0, minor = 0;
  std::string_view name;
  std::string_view counters;  // parsed only for devices that count
};

// for (DiskLine line; lines.next(line);) …; lines without a name are passed over.
class DiskStatsLines {
 public:
  explicit DiskStatsLines(std::string_view text) : scan_(text) {}
  bool next(DiskLine& line);

 private:
  Scanner scan_;
};

// False when fewer than the eleven numbers of every kernel since 2.6 are there.
bool parse_disk_counters(std::string_view text, DiskCounters& out);

}  // namespace tacho
