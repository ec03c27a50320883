// DiskTable keeps what each line of /proc/diskstats was at the last reading, and sums what the counted devices added.
// sysfs is asked about a device only when its line appears. A device that comes mid-run starts at its own first
// reading; a counter that falls adds nothing. Not thread-safe; no allocation while the lines stay the same.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/block.h"
#include "os/file.h"
#include "procfs/diskstats.h"

namespace tacho {

// What all counted devices did since the first reading; never falls.
struct DiskTotals {
  int64_t read_bytes = 0, write_bytes = 0;
  int64_t busy_ms = 0;      // spent by requests that completed, reading and writing
  int64_t completed = 0;    // requests, reading and writing
  int64_t weighted_ms = 0;  // time × requests in flight
};

struct DiskEntry {
  std::string name;
  int64_t major = 0, minor = 0;
  BlockRole role = BlockRole::unknown;
  bool known = false;  // `last` was read
  DiskCounters last;
  bool counted() const { return role == BlockRole::bottom; }
};

class DiskTable {
 public:
  explicit DiskTable(const Roots& roots) : roots_(roots) {}

  // Folds a reading in. False when the text has no line at all.
  bool update(std::string_view diskstats);
  // Folds in what the own file of a device says: /sys/block/NAME/stat has the numbers of its line.
  void update_one(size_t index, std::string_view counters) { fold(entries_[index], counters); }
  // From now on reads the counters of devices that do not count, too.
  void keep_all() { keep_all_ = true; }

  const DiskTotals& totals() const { return totals_; }
  std::span<const DiskEntry> entries() const { return entries_; }
  // No /sys/block: devices were told apart by their names, which is a guess.
  bool guessed() const { return guessed_; }
  uint64_t changes() const { return changes_; }  // how often the set of lines was another one

 private:
  void rebuild(std::string_view diskstats);
  void fold(DiskEntry& entry, std::string_view counters);
  void guess_roles();

  const Roots& roots_;
  std::vector<DiskEntry> entries_;  // in the order of the lines
  DiskTotals totals_;
  bool keep_all_ = false;
  bool guessed_ = false;
  uint64_t changes_ = 0;
};

}  // namespace tacho
