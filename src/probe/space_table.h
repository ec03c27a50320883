// SpaceTable: how full the local file systems are. The mounts are parsed again only after the kernel said that they
// changed, which is asked at every reading: below a mount point that was unmounted since is the file system of its
// folder, which would count twice. Not thread-safe; no allocation while the mounts stay the same.
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
  bool read(Space& sum);
  bool misses_one() const { return misses_one_; }  // by the last reading
  std::span<const Entry> entries() const { return entries_; }
  uint64_t changes() const { return changes_; }  // how often the mounts were parsed

 private:
  void parse_mounts();

  std::string path_;
  MountWatch watch_;
  bool misses_one_ = false;
  uint64_t changes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tacho
