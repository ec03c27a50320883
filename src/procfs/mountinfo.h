// /proc/self/mountinfo (Documentation/filesystems/proc.rst §3.5). Pure; no I/O.
//   36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//   id parent major:minor root mount-point options [tags …] - type source super-options
// Blank, tab, newline and backslash in root, mount point and source are written \040 \011 \012 \134.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

// As in the file: root, mount_point and source are to be decoded.
struct MountLine {
  int64_t id = 0, parent = 0, major = 0, minor = 0;
  std::string_view root, mount_point, options, type, source, super_options;
};

// for (MountLine line; lines.next(line);) …; malformed lines are passed over.
class MountInfoLines {
 public:
  explicit MountInfoLines(std::string_view text) : scan_(text) {}
  bool next(MountLine& line);

 private:
  Scanner scan_;
};

// Replaces every backslash with three octal digits by its character; anything else stays. Allocates: mounts are
// parsed only after they changed.
std::string decode_mount_field(std::string_view text);

}  // namespace tacho
