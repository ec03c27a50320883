#include "os/mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/saturate.h"

namespace tacho {

MountWatch::MountWatch(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

bool MountWatch::changed() {
  if (!fd_) return false;
  // An ordinary file is always readable; only a change of mounts raises POLLPRI.
  pollfd entry{fd_.get(), POLLPRI, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLPRI) != 0;
}

std::optional<DeviceNumber> block_device_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISBLK(info.st_mode)) return std::nullopt;
  return DeviceNumber{static_cast<int64_t>(major(info.st_rdev)), static_cast<int64_t>(minor(info.st_rdev))};
}

bool read_space(const char* path, Space& out) {
  struct statvfs info {};
  if (::statvfs(path, &info) != 0) return false;
  const auto block_bytes = static_cast<int64_t>(info.f_frsize != 0 ? info.f_frsize : info.f_bsize);
  out.total_bytes = saturating_multiply(static_cast<int64_t>(info.f_blocks), block_bytes);
  out.free_bytes = saturating_multiply(static_cast<int64_t>(info.f_bavail), block_bytes);
  const uint64_t used_blocks = info.f_blocks > info.f_bfree ? info.f_blocks - info.f_bfree : 0;
  out.used_bytes = saturating_multiply(static_cast<int64_t>(used_blocks), block_bytes);
  return out.total_bytes > 0;
}

}  // namespace tacho
