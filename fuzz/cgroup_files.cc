// cgroup files, v1 and v2, and CPU lists.
#include "procfs/cgroup_files.h"

#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::parse_cgroup_paths(text, [&](std::string_view controllers, std::string_view path) {
    require(is_inside(controllers, text) && is_inside(path, text));
  });
  tacho::parse_single(text);
  tacho::parse_keyed(text, "usage_usec");
  require(tacho::parse_cpu_max(text).value_or(1) >= 0);
  const tacho::CgroupIo v2 = tacho::parse_io_stat(text);
  const tacho::CgroupIo v1 = tacho::parse_blkio_bytes(text);
  require(v1.read_bytes >= 0 && v1.write_bytes >= 0 && v2.read_bytes >= 0 && v2.write_bytes >= 0);
  require(tacho::count_cpu_list(text).value_or(1) > 0);
}
