#include "probe/space_table.h"

#include "base/saturate.h"
#include "base/units.h"

namespace tacho {

SpaceTable::SpaceTable(const Roots& roots) : path_(roots.proc + "/self/mountinfo"), watch_(path_) { parse_mounts(); }

void SpaceTable::parse_mounts() {
  const auto text = read_whole_file(path_);
  ++changes_;
  entries_.clear();
  for (FileSystem& file_system : local_file_systems(text ? std::string_view(*text) : std::string_view()))
    entries_.push_back({std::move(file_system), {}, false, false});
}

bool SpaceTable::read(int64_t stamp_ns, Space& sum) {
  if (stamp_ns >= next_look_ns_) {
    // A little less than a second, so that ticks of one second never miss their turn by jitter.
    next_look_ns_ = stamp_ns + kNsPerSec / 10 * 9;
    if (watch_.changed()) parse_mounts();
  }
  if (!sum_up(sum) && watch_.changed()) {
    parse_mounts();
    sum_up(sum);
  }
  return sum.total_bytes > 0 && !misses_one_;
}

// False when a mount point leads to another file system than it did: below an unmounted one it is that of the folder,
// which would count twice.
bool SpaceTable::sum_up(Space& sum) {
  sum = {};
  misses_one_ = false;
  bool same = true;
  for (Entry& entry : entries_) {
    const uint64_t id = entry.space.id;
    entry.known = read_space(entry.file_system.mount_point.c_str(), entry.space);
    misses_one_ |= entry.counts && !entry.known;
    same = same && (entry.known ? !entry.counts || entry.space.id == id : !entry.counts);
    if (!entry.known) continue;
    entry.counts = true;
    sum.total_bytes = saturating_add(sum.total_bytes, entry.space.total_bytes);
    sum.free_bytes = saturating_add(sum.free_bytes, entry.space.free_bytes);
  }
  return same;
}

}  // namespace tacho
