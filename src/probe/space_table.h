// SpaceTable: how full the local file systems are. The mounts are parsed again only after the kernel said that they
// changed, which is asked at most once a second, or where a mount point leads to another file system by now. Not
// thread-safe; no allocation while the mounts stay the same.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "os/file.h"
#include "os/mounts.h"
#include "probe/file_systems.h"

namespace tacho {

class SpaceTable {
 public:
  struct Entry {
    FileSystem file_system;
    Space space;          // of the last reading
    bool known = false;   // the last reading worked
    bool counts = false;  // it was read once: its part is missed when it cannot be read
  };

  explicit SpaceTable(const Roots& roots);
  // One statvfs a file system. False when none could be read, or not one that could before: the sum of the others would
  // look as if space had gone.
  bool read(int64_t stamp_ns, Space& sum);
  bool misses_one() const { return misses_one_; }  // by the last reading
  std::span<const Entry> entries() const { return entries_; }
  uint64_t changes() const { return changes_; }  // how often the mounts were parsed

 private:
  void parse_mounts();
  bool sum_up(Space& sum);

  std::string path_;
  MountWatch watch_;
  int64_t next_look_ns_ = 0;
  bool misses_one_ = false;
  uint64_t changes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tacho
