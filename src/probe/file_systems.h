// The local file systems whose space counts, each once, out of /proc/self/mountinfo. Pure: no mount is touched, as one
// on a dead server would block. Allocates: mounts are looked at only after they changed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "os/mounts.h"

namespace tacho {

struct FileSystem {
  std::string mount_point;
  std::string type;
  std::string source;   // /dev/sda1, a ZFS dataset …
  DeviceNumber device;  // major 0: an anonymous number that no block device has (btrfs, zfs …)
  std::string pool;     // of ZFS; empty otherwise
};

// File systems on block devices, btrfs, zfs, bcachefs and ubifs; one entry for a file system that is mounted several
// times, at the shortest of its mount points that no other mount hides. Pseudo, network, FUSE, cluster and read-only
// image file systems are left out. When nothing is left, as in a container, the one at "/".
std::vector<FileSystem> local_file_systems(std::string_view mountinfo);

}  // namespace tacho
