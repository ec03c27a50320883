// Samples that a receiver of metrics refused, kept beside the spool so that nothing is lost without a trace:
//
//   <root>/dead-letter/<run>.openmetrics  samples with their times, for promtool tsdb create-blocks-from openmetrics
//   <root>/dead-letter/<run>.otlp.jsonl   one request a line, as OTLP's JSON
//
// A line is written once, even if it is refused again after a restart. Files are private. Not thread-safe.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"

namespace tacho {

class MetricLetters {
 public:
  // `folder` is the run's own in the spool, `run` its id.
  MetricLetters(const std::string& folder, const std::string& run, bool otlp);

  // Whole lines; on disk when it returns.
  Status keep(std::string_view lines);
  const std::string& path() const { return path_; }

 private:
  std::string folder_, name_, path_;
  bool otlp_, loaded_ = false;
  std::unordered_set<size_t> known_;  // hashes of lines
};

}  // namespace tacho
