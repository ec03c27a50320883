// The rows of a spooled run in the chunks that go as one request each: the same from every process, because a chunk
// ends where a segment does, one row before its end (the last row of all is only known when the run is over), or where
// it is full. All segments stay in the spool until the run is delivered. Not thread-safe.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "deliver/metric_fold.h"
#include "deliver/notices.h"
#include "spool/reader.h"

namespace tacho {

class MetricChunks {
 public:
  MetricChunks(const SpoolRun& run, Notices& notices, const MetricMeta& meta);

  const std::vector<MetricSeries>& series() const { return fold_.series(); }
  // The points of the next chunk. Nothing: all that is sealed was handed out. The last one comes when `over`, with
  // what is known of the run's end.
  std::optional<std::vector<MetricPoint>> next(bool over, const std::optional<MetricEnd>& end);
  bool is_complete() const { return complete_; }  // the last one was handed out
  // Whether the segment's rows were read already.
  bool has_read(uint32_t number) const { return next_segment_ > number; }
  const std::string& stuck() const { return stuck_; }  // why a segment cannot be read; empty: nothing in the way

 private:
  bool read_segment();
  bool read_rows(const Segment& segment);

  const SpoolRun& run_;
  Notices& notices_;
  std::string store_folder_, stuck_;
  MetricFold fold_;
  size_t rows_at_once_;
  bool ends_stale_, complete_ = false;
  std::deque<std::string> rows_;  // the last one is held back
  uint32_t next_segment_ = 0;
  std::deque<Segment> listed_;  // the next ones, as far as they were looked for
};

}  // namespace tacho
