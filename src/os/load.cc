#include "os/load.h"

#include <linux/magic.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>

namespace tacho {

std::optional<int64_t> load1_of_machine() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return std::nullopt;
  // 16 binary digits behind the point; the kernel adds half a hundredth and cuts.
  const uint64_t load = info.loads[0] + (uint64_t{1} << 16) / 200;
  return static_cast<int64_t>((load >> 16) * 100 + (((load & 0xffff) * 100) >> 16));
}

bool is_kernels_own_proc(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

}  // namespace tacho
