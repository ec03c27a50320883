// JSON lines of tracker.md §3: one object a row. Levels come from the row and its Detail; rates are derived from two
// Details, this one and the one before, which the encoder keeps. Not thread-safe; no allocation while the device lists
// keep their size and the writer has its.
#pragma once
#include <span>
#include <string>

#include "base/writer.h"
#include "model/detail.h"
#include "model/row.h"
#include "model/run.h"

namespace tacho {

class JsonlEncoder {
 public:
  // `compatible`: *_mib are whole numbers, as the Rust client writes them.
  void begin(const Run& run, const Schema& schema, bool compatible);
  // The reading before the first row; without it the first row's rates are null.
  void baseline(const Detail& detail);
  // One line with its LF. `messages`: what would be said to the person on stderr, if lines did not go there.
  void write(Writer& out, const Row& row, const Detail& detail, std::span<const std::string> messages = {});

 private:
  class Line;  // one object in the making

  Schema schema_;
  bool compatible_ = false;
  bool hides_macs_ = false, hides_serials_ = false, hides_uuids_ = false, hides_host_ = false;
  std::string job_name_, version_;
  // The last of each list that was read, and when: a list that is empty in one line costs the next one no rate.
  Detail before_;
  struct Stamps {
    int64_t cores = 0, network = 0, disks = 0, cgroup = 0;
  } before_ns_;
  bool has_before_ = false;
  // Where the columns are that the cpu object repeats; −1: not part of this run.
  struct Cells {
    int cpu_usage, utime, stime, processes, process_cpu, children, process_utime, process_stime, disk_read, disk_write,
        gpu_usage, gpu_vram, gpu_utilized, pid;
  } cells_{};
};

}  // namespace tacho
