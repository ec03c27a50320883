// The disks of a task: how full each mount is and what its device does, as the arrays of a metrics row. Same length and
// order for the whole run; a mount that fails keeps its last values and says so. Relies on /proc/self/mountinfo and
// /proc/diskstats. Not thread-safe; no allocation while mounts stay the same.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "monitor/mount_list.h"
#include "monitor/space_workers.h"
#include "monitor/tables/rows.h"
#include "os/file.h"
#include "os/mounts.h"
#include "procfs/diskstats.h"

namespace tacho {

class MountDisks {
 public:
  MountDisks(const Roots& roots, std::vector<std::string> mounts, SpaceWorkers::Ask ask = SpaceWorkers::ask_kernel);

  void prepare();  // before the other sources are read; asks the worker where one is needed
  // stamp_ns: CLOCK_MONOTONIC now. The first call is the base: rates follow from the second one on.
  void read(int64_t stamp_ns, ReadBuffer& buffer);
  std::span<const DiskValues> values() const { return values_; }

 private:
  struct Entry {
    MountPlace place;
    bool found = false;      // place is known
    bool was_exact = false;  // it was a mount point once: if that goes, the folder is on another disk
    bool has_base = false;
    DiskCounters base;
    int64_t base_ns = 0;
  };
  void find_direct();
  void ask();
  void resolve();
  void read_counters(std::string_view diskstats, int64_t stamp_ns);
  void count(size_t index, const DiskLine& line, int64_t stamp_ns);

  std::string mountinfo_path_;
  MountWatch watch_;
  KeptFile diskstats_;
  SpaceWorkers::Ask ask_;
  SpaceWorkers workers_;
  std::vector<Entry> entries_;
  std::vector<DiskValues> values_;
  std::vector<SpaceAnswer> answers_;
  std::vector<bool> counted_;
  int64_t looked_ns_ = 0, look_again_ns_ = 0;
  bool failed_ = true;  // a mount failed: read the mounts again after a while
  bool changed_ = true;
  bool direct_ = false;  // no mount can hang: no thread is needed, nor its two switches a sample
};

}  // namespace tacho
