// The text log that monitoring scripts write to stdout, for people and for tools that read a task's monitoring.log: the
// totals, then every few seconds how much of them is used, in percent. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>

#include "base/writer.h"
#include "monitor/tables/rows.h"
#include "os/line_file.h"

namespace tacho {

void put_log_header(Writer& out, const RuntimeFacts& facts, size_t working_disk);
// One record; what is unknown is left out.
//   [Sun Nov 15 09:30:00 UTC 2026]
//   * CPU usage: 12.5%
//   * Memory usage: 40.2%
//   * Disk usage: 7.1%
void put_log_record(Writer& out, const MetricsSample& sample, size_t working_disk);

class TextLog {
 public:
  explicit TextLog(size_t working_disk) : working_disk_(working_disk) {}
  void begin(const RuntimeFacts& facts);
  // Every ten seconds, and at once where the sample carries an event.
  void write(const MetricsSample& sample);

 private:
  void send();

  size_t working_disk_;
  std::optional<LineFile> file_;
  Writer text_;
  int64_t next_ns_ = 0;
};

}  // namespace tacho
