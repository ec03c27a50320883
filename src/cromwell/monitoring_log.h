// monitoring.log, as two older monitoring scripts write it (cromwell-bigquery.md §4.3), read line by line. A value that
// a line lacks, or gives as zero, is unknown. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

// One measurement, in cores and GB.
struct LogSample {
  std::optional<double> cpu, memory, disk;
  std::optional<int64_t> time_ns;
};

class MonitoringLog {
 public:
  using Take = std::function<void(const LogSample&)>;
  explicit MonitoringLog(Take take) : take_(std::move(take)) {}
  void line(std::string_view text);
  void finish();  // the last block of the log may be open
  uint64_t samples() const { return samples_; }
  uint64_t bad_lines() const { return bad_lines_; }

 private:
  void header(std::string_view text);
  bool one_line_record(std::string_view text);  // EPI
  bool block_line(std::string_view text);       // HCA
  void emit(const LogSample& sample);
  std::optional<double> share(std::optional<double> percent, const std::optional<double>& total) const;

  Take take_;
  bool in_header_ = true;
  std::optional<double> cpus_, memory_gb_, disk_gb_;
  std::optional<LogSample> block_;
  uint64_t samples_ = 0, bad_lines_ = 0;
};

// Whose log it is, from …/<workflow name>/<workflow id>/call-<name>[/shard-N][/…attempt-N]/monitoring.log.
struct LogPlace {
  std::string workflow_name, workflow_id, call;
  int64_t shard = -1, attempt = 1;
};
Result<LogPlace> parse_log_path(std::string_view path);

// "Mon Jan  2 15:04:05 UTC 2006", the day padded or not.
std::optional<int64_t> parse_date_output(std::string_view text);

}  // namespace tacho
