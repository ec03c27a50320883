#include "probe/file_systems.h"

#include <algorithm>
#include <array>
#include <map>

#include "procfs/mountinfo.h"

namespace tacho {
namespace {

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// On a block device of their own, yet not local space: images that are full by nature, FUSE, shared by a cluster.
constexpr std::array<std::string_view, 9> kNotCounted = {"squashfs", "iso9660", "udf",  "erofs", "cramfs",
                                                         "romfs",    "fuseblk", "gfs2", "ocfs2"};
// Local, though their device number is anonymous. All others with major 0 are pseudo, network, FUSE or overlay.
constexpr std::array<std::string_view, 4> kAnonymousButLocal = {"btrfs", "zfs", "bcachefs", "ubifs"};

bool counts(const MountLine& line) {
  if (line.major == 0) return contains(kAnonymousButLocal, line.type);
  return !contains(kNotCounted, line.type) && !line.type.starts_with("fuse.");
}

// Is `path` the folder `above` or below it? Whole components: /run is not above /runs.
bool is_at_or_below(std::string_view path, std::string_view above) {
  if (above == "/") return true;
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

// All mounts, to find out which of them a path really leads to.
class MountTree {
 public:
  explicit MountTree(std::string_view mountinfo) {
    MountInfoLines lines(mountinfo);
    for (MountLine line; lines.next(line);) lines_.push_back(line);
  }
  const std::vector<MountLine>& lines() const { return lines_; }

  // Does another mount lie on top of this one, or on a folder on the way to it?
  bool is_hidden(const MountLine& mount) const {
    const MountLine* child = nullptr;  // the mount below on the way, which may lie on its parent's own root
    const MountLine* at = &mount;
    for (size_t depth = 0; at != nullptr && depth < lines_.size(); ++depth) {
      for (const MountLine& other : lines_)
        if (&other != at && &other != child && covers(other, *at)) return true;
      child = at;
      at = parent_of(*at);
    }
    return false;
  }

 private:
  static bool covers(const MountLine& other, const MountLine& mount) {
    // Mounted onto its root …
    if (other.parent == mount.id && other.mount_point == mount.mount_point) return true;
    // … or beside it, on a folder above its mount point: had it come first, it would be the parent.
    return other.parent == mount.parent && other.mount_point != mount.mount_point && other.id != other.parent &&
           is_at_or_below(mount.mount_point, other.mount_point);
  }
  const MountLine* parent_of(const MountLine& mount) const {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const MountLine& line) { return line.id == mount.parent && &line != &mount; });
    return found == lines_.end() ? nullptr : &*found;
  }

  std::vector<MountLine> lines_;
};

// The first part of a dataset's name: tank of tank/home.
std::string_view pool_of(const MountLine& line) {
  return line.type == "zfs" ? line.source.substr(0, line.source.find('/')) : std::string_view{};
}

// What makes two mounts the same file system.
std::string identity(const MountLine& line) {
  if (line.major != 0) return std::to_string(line.major) + ":" + std::to_string(line.minor);
  const std::string_view pool = pool_of(line);
  return std::string(line.type) + ":" + std::string(pool.empty() ? line.source : pool);
}

FileSystem make_entry(const MountLine& line) {
  return {decode_mount_field(line.mount_point),
          std::string(line.type),
          decode_mount_field(line.source),
          {line.major, line.minor},
          decode_mount_field(pool_of(line))};
}

}  // namespace

std::vector<FileSystem> local_file_systems(std::string_view mountinfo) {
  const MountTree tree(mountinfo);
  std::map<std::string, std::vector<const MountLine*>> mounts_of;
  FileSystem root{"/", "", "", {}, ""};
  for (const MountLine& line : tree.lines()) {
    if (line.mount_point == "/") root = make_entry(line);
    if (counts(line)) mounts_of[identity(line)].push_back(&line);
  }
  std::vector<FileSystem> result;
  for (auto& [key, mounts] : mounts_of) {
    // The shortest path is the one a person knows; bind mounts into containers are long.
    std::stable_sort(mounts.begin(), mounts.end(), [](const MountLine* a, const MountLine* b) {
      return a->mount_point.size() < b->mount_point.size();
    });
    const auto open =
        std::find_if(mounts.begin(), mounts.end(), [&](const MountLine* m) { return !tree.is_hidden(*m); });
    if (open != mounts.end()) result.push_back(make_entry(**open));
  }
  if (result.empty()) result.push_back(std::move(root));
  return result;
}

}  // namespace tacho
