// NetTable keeps what each line of /proc/net/dev was at the last reading, and sums what the counted interfaces added.
// sysfs is asked only when the set of lines changes. An interface that comes mid-run or begins anew starts at its own
// first reading. Not thread-safe; no allocation while the lines stay the same.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"
#include "procfs/net_dev.h"

namespace tacho {

struct NetEntry {
  std::string name;
  int64_t index = -1;  // ifindex; −1: unknown
  Fd index_file;       // tells it again, or that the interface is gone; none where it does not count
  bool counted = false;
  bool known = false;  // `last` was read
  NetCounters last;
  int64_t speed_mbps = -1;  // of the link, where it has one; the owner of the table looks it up
};

class NetTable {
 public:
  // Begins anew with the interfaces of another namespace: `sys` is the sysfs that shows them, empty when there is none,
  // `proc_net` its folder in /proc. The totals go on.
  void reset(std::string sys, std::string proc_net);
  // Folds a reading in. False when the text names no interface at all.
  bool update(std::string_view net_dev);
  // From now on reads the counters of interfaces that do not count, too.
  void keep_all() { keep_all_ = true; }

  void set_speed(size_t index, int64_t mbps) { entries_[index].speed_mbps = mbps; }
  // Time that the busiest counted interface would have needed at its full speed, in one direction; a sum over the
  // readings, −1 where no interface has a speed.
  int64_t busy_ns() const;
  const NetCounters& totals() const { return totals_; }  // since the first reading; never fall
  std::span<const NetEntry> entries() const { return entries_; }
  bool guessed() const { return guessed_; }  // told apart by name: no sysfs
  uint64_t changes() const { return changes_; }
  std::string sysfs_path(std::string_view name) const;  // of one interface

 private:
  bool update_entries(std::string_view net_dev);
  void rebuild(std::string_view net_dev);
  void classify();
  void fold(NetEntry& entry, std::string_view counters);
  bool has_device(std::string_view name) const;
  bool carries_others(std::string_view name) const;

  std::string sys_, proc_net_;
  std::vector<NetEntry> entries_;  // in the order of the lines
  NetCounters totals_;
  int64_t busy_ns_ = 0, busiest_ns_ = 0;  // of all readings, and of one interface in this one
  bool keep_all_ = false;
  bool guessed_ = false;
  uint64_t changes_ = 0;
};

}  // namespace tacho
