// Samples that a receiver of metrics refused, kept beside the spool so that nothing is lost without a trace:
//
//   <root>/dead-letter/<run>.openmetrics  samples with their times, for promtool tsdb create-blocks-from openmetrics
//   <root>/dead-letter/<run>.otlp.jsonl   one request a line, as OTLP's JSON
//
// A line is written once, even if it is refused again after a restart: what lies behind the length that state.json has
// is what a killed process may have written, and is compared. Files are private. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"
#include "os/owned_folder.h"

namespace tacho {

class MetricLetters {
 public:
  // `folder` is the run's own in the spool, `run` its id; `bytes` is what bytes() was when it was last written down.
  MetricLetters(const std::string& folder, const std::string& run, bool otlp, int64_t bytes);

  void add(std::string_view lines) { pending_ += lines; }  // whole ones
  // All of them are on disk when it returns.
  Status flush();
  int64_t bytes() const { return bytes_; }  // up to which the file has lines that are surely ours
  bool any() const { return bytes_ > 0 || end_ > 0; }
  const std::string& path() const { return path_; }

 private:
  void load(int fd, int64_t end);
  Status append(const OwnedFolder& folder, const std::string& lines);

  std::string folder_, name_, path_, pending_;
  bool otlp_, loaded_ = false;
  int64_t bytes_, end_ = 0;
  std::unordered_set<size_t> known_;  // hashes of lines behind `bytes` that were not refused again yet
};

}  // namespace tacho
