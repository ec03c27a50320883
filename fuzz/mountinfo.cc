// /proc/self/mountinfo, and the choice of local file systems: there is always at least one, each with a path. What
// zpool says of the pools among them.
#include "procfs/mountinfo.h"

#include "probe/file_systems.h"
#include "procfs/zpool.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::MountInfoLines lines(text);
  for (tacho::MountLine line; lines.next(line);) {
    require(!line.type.empty() && is_inside(line.mount_point, text) && is_inside(line.super_options, text));
    require(tacho::decode_mount_field(line.mount_point).size() <= line.mount_point.size());
  }
  require(!tacho::local_file_systems(text).empty());
  tacho::PoolLines pools(text);
  for (tacho::PoolLine pool; pools.next(pool);)
    require(!pool.name.empty() && is_inside(pool.name, text) && pool.size_bytes >= 0 && pool.free_bytes >= 0);
}
