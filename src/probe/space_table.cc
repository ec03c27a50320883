#include "probe/space_table.h"

#include "base/saturate.h"

namespace tacho {

SpaceTable::SpaceTable(const Roots& roots) : path_(roots.proc + "/self/mountinfo"), watch_(path_) { parse_mounts(); }

void SpaceTable::parse_mounts() {
  const auto text = read_whole_file(path_);
  ++changes_;
  entries_.clear();
  for (FileSystem& file_system : local_file_systems(text ? std::string_view(*text) : std::string_view()))
    entries_.push_back({std::move(file_system), {}, false, false});
}

bool SpaceTable::read(Space& sum) {
  if (watch_.changed()) parse_mounts();
  sum = {};
  bool any = false;
  misses_one_ = false;
  for (Entry& entry : entries_) {
    entry.known = read_space(entry.file_system.mount_point.c_str(), entry.space);
    misses_one_ |= entry.counts && !entry.known;
    if (!entry.known) continue;
    any = entry.counts = true;
    sum.total_bytes = saturating_add(sum.total_bytes, entry.space.total_bytes);
    sum.free_bytes = saturating_add(sum.free_bytes, entry.space.free_bytes);
  }
  return any && !misses_one_;
}

}  // namespace tacho
