// What the disk probe asks the kernel about mounts: whether they changed, what is where, how full it is.
// Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "os/fd.h"

namespace tacho {

// Tells when the mounts of this namespace changed: /proc/self/mountinfo raises POLLPRI (since Linux 2.6.26).
class MountWatch {
 public:
  explicit MountWatch(const std::string& path);
  // True once after each change. One poll without waiting.
  bool changed();

 private:
  Fd fd_;
};

struct DeviceNumber {
  int64_t major = 0, minor = 0;
  bool operator==(const DeviceNumber&) const = default;
};

// The device that the special file `path` stands for; nothing when it is none.
std::optional<DeviceNumber> block_device_at(const std::string& path);

struct Space {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;  // to users; blocks kept for root are not free
  int64_t used_bytes = 0;  // without what is kept for root
};

// statvfs, without allocating; false when it fails.
bool read_space(const char* path, Space& out);

}  // namespace tacho
