// Which file systems a task monitor looks at, and which device each of them is on (cromwell-bigquery.md 1.4), out of
// the text of /proc/self/mountinfo. Pure; allocates: mounts are looked at only after they changed.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/mounts.h"

namespace tacho {

struct MountPlace {
  std::string mount_point, type, source;
  DeviceNumber device;
  bool exact = false;  // the path itself is the mount point
};

// The mount that a path without links lies on: the longest mount point above it, and of several the last line.
std::optional<MountPlace> find_mount(std::string_view mountinfo, std::string_view path);

// FUSE (gcsfuse and others) and network file systems: slow, without a device, or both.
bool is_remote_type(std::string_view type);

// Whether a file system answers "how full?" from memory, whatever its disk does; and whether nothing on the way to a
// path without links can hang.
bool answers_from_memory(std::string_view mountinfo, std::string_view path);

struct MountChoice {
  std::vector<std::string> asked;  // of DISK_MOUNTS
  std::string folder;              // the current one
  bool with_remote = false;
  std::function<bool(const std::string&)> exists;
};
struct ChosenMounts {
  std::vector<std::string> mounts;    // never empty, in the order that was asked for
  std::vector<std::string> left_out;  // remote ones
};
ChosenMounts choose_mounts(const MountChoice& choice, std::string_view mountinfo);

// The disk that the task works on: called cromwell_root, else the first.
std::string working_mount(const std::vector<std::string>& mounts);

}  // namespace tacho
