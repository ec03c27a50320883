// Where the rows of a task wait until BigQuery has them (cromwell-bigquery.md 2.6): a spool of records in the first
// place that can be written to, bounded, and a ring in memory while there is no such place. When the bound is reached,
// every second one of the oldest unsent rows is dropped; rows that carry an event stay. Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/writer.h"
#include "monitor/packed_rows.h"
#include "spool/disk_sync.h"
#include "spool/writer.h"

namespace tacho {

struct TaskSpoolOptions {
  std::vector<std::string> roots;
  int64_t cap_bytes = 0;                     // 0: 256 MiB or a hundredth of the disk, the smaller
  int64_t memory_bytes = int64_t{16} << 20;  // of what lies in memory
};

// --spool-dir or TACHO_SPOOL_DIR (`named`), the working mount, TMPDIR, and memory (/dev/shm).
std::vector<std::string> task_spool_roots(const std::string& named, const std::string& working_mount);

class TaskSpool {
 public:
  TaskSpool(TaskSpoolOptions options, std::string utc);

  // True when a folder is there; tried again with each report.
  bool open();
  bool is_open() const { return writer_.has_value(); }
  const std::string& folder() const { return writer_->folder(); }
  int lock_fd() const { return writer_->lock_fd(); }

  // Written when a folder is there, and again when one is found.
  void set_meta(std::string json) { meta_ = std::move(json), meta_written_ = false; }
  Status write_meta();

  // Never fails: what the disk does not take is kept in memory.
  void append(char table, int64_t time_us, std::string_view row);
  // Ends the segment: it may be sent from now on. A thread makes it survive a power cut: a disk that the task keeps
  // busy may take seconds for that. False when there was nothing to seal or it could not be.
  bool seal();
  // Waits until all is on disk, at most so long.
  void sync(int64_t patience_ns) { disk_.wait(patience_ns); }
  int64_t dropped() const { return dropped_; }
  int64_t ring_bytes() const { return ring_bytes_; }

 private:
  struct Line {
    char table;
    std::string text;
  };
  struct Sealed {
    uint32_t number = 0;
    int64_t bytes = 0;
    std::vector<Line> lines;  // of the newest few segments, until they are sent; older ones are in packed_
  };
  void look_for_folder();
  void move_away();
  void forget_lines();
  void pack(Sealed& segment);
  bool is_sent(uint32_t number) const;
  bool write(const Line& line);
  void keep(char table, std::string_view line);
  bool drain();
  int64_t cap() const;
  void bound();
  bool thin(Sealed& segment);
  void forget_sent();
  void thin_ring();

  TaskSpoolOptions options_;
  std::string utc_, meta_;
  bool meta_written_ = false, told_full_ = false, told_no_place_ = false, moved_ = false;
  std::optional<SpoolWriter> writer_;
  std::deque<Sealed> sealed_;  // oldest first, as far as not known to be sent
  int64_t sealed_bytes_ = 0;
  PackedRows packed_;
  std::vector<Line> unsealed_;  // what the open segment holds
  std::deque<Line> ring_;
  int64_t ring_bytes_ = 0, dropped_ = 0;
  mutable int64_t cap_bytes_ = 0;
  int64_t folder_changed_ns_ = 0;  // as last seen
  Writer line_;
  DiskSync disk_;
};

// Every second record of a metrics row is left out; runtime rows and events stay. Counts what was left out.
std::string thinned(std::string_view records, int64_t& rows, int64_t& dropped);

}  // namespace tacho
