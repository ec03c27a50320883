#include "monitor/mount_list.h"

#include <algorithm>
#include <array>

#include "procfs/mountinfo.h"

namespace tacho {
namespace {

constexpr std::string_view kPapiRoot = "/cromwell_root", kBatchRoot = "/mnt/disks/cromwell_root";
constexpr std::string_view kGcsMount = "/mnt/disks/gcs";

std::string_view without_slash(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

// Whole components: /mnt is not above /mnt2.
bool is_above(std::string_view mount_point, std::string_view path) {
  if (mount_point == "/") return path.starts_with('/');
  return path.starts_with(mount_point) && (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

std::string default_mount(const MountChoice& choice, std::string_view mountinfo) {
  for (const std::string_view path : {kPapiRoot, kBatchRoot})
    if (choice.exists(std::string(path))) return std::string(path);
  const auto place = find_mount(mountinfo, choice.folder);
  return place ? place->mount_point : "/";
}

}  // namespace

std::optional<MountPlace> find_mount(std::string_view mountinfo, std::string_view path) {
  path = without_slash(path);
  std::optional<MountPlace> best;
  MountInfoLines lines(mountinfo);
  for (MountLine line; lines.next(line);) {
    std::string mount_point = decode_mount_field(line.mount_point);
    if (!is_above(mount_point, path) || (best && mount_point.size() < best->mount_point.size())) continue;
    const bool exact = mount_point == path;
    best = MountPlace{std::move(mount_point),
                      std::string(line.type),
                      decode_mount_field(line.source),
                      {line.major, line.minor},
                      exact};
  }
  return best;
}

bool is_remote_type(std::string_view type) {
  constexpr std::array<std::string_view, 16> kRemote{"fuse", "nfs",    "nfs4",  "cifs",     "smb3",  "smbfs",
                                                     "9p",   "afs",    "ceph",  "coda",     "ncpfs", "lustre",
                                                     "gpfs", "beegfs", "pvfs2", "glusterfs"};
  return type.starts_with("fuse.") || std::find(kRemote.begin(), kRemote.end(), type) != kRemote.end();
}

bool answers_from_memory(std::string_view mountinfo, std::string_view path) {
  constexpr std::array<std::string_view, 10> kLocal{"ext4", "ext3", "ext2",     "xfs",     "overlay",
                                                    "vfat", "f2fs", "squashfs", "iso9660", "tmpfs"};
  path = without_slash(path);
  bool found = false;
  MountInfoLines lines(mountinfo);
  for (MountLine line; lines.next(line);) {
    if (!is_above(decode_mount_field(line.mount_point), path)) continue;
    if (std::find(kLocal.begin(), kLocal.end(), line.type) == kLocal.end()) return false;
    found = true;
  }
  return found;
}

ChosenMounts choose_mounts(const MountChoice& choice, std::string_view mountinfo) {
  ChosenMounts chosen;
  for (const std::string& path : choice.asked) {
    const auto place = find_mount(mountinfo, path);
    // Cromwell's place for gcsfuse on GCP Batch; in a container that does not see the mount it is no disk of the task
    // either.
    const bool gcs = without_slash(path) == kGcsMount && !(place && place->exact);
    const bool remote = gcs || (place && is_remote_type(place->type));
    (remote && !choice.with_remote ? chosen.left_out : chosen.mounts).push_back(path);
  }
  // Queries index the first element: there is always one.
  if (chosen.mounts.empty()) chosen.mounts.push_back(default_mount(choice, mountinfo));
  return chosen;
}

std::string working_mount(const std::vector<std::string>& mounts) {
  for (const std::string& mount : mounts)
    if (without_slash(mount).ends_with(kPapiRoot)) return std::string(without_slash(mount));
  return mounts.empty() ? std::string() : std::string(without_slash(mounts.front()));
}

}  // namespace tacho
