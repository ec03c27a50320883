// Sampler: the probes of a session, their last two readings, and rows derived from them. Columns are decided when it is
// made and never change. Not thread-safe; no allocation in a steady tick.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/detail.h"
#include "model/row.h"
#include "model/run.h"
#include "os/clock.h"
#include "probe/kit/probe.h"

namespace tacho {

// Which probes run: their defaults, changed by --probe and --no-probe. Unknown names are errors with the nearest name.
// compatible: only the 32 columns unless asked for more, memory in whole MiB.
struct ProbeChoice {
  std::vector<std::string> on, off;
  bool compatible = false;
};

class Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> create(ProbeContext& context, const ProbeChoice& choice, Clock& clock);

  const Schema& schema() const { return schema_; }
  // The reading before the job starts: the first row counts from here.
  void baseline();
  // The same of one probe alone, whose source has changed since.
  void rebase(std::string_view probe);
  // One row, from the last reading to now. closing: the last one.
  void sample(Row& row, bool closing);
  // Device lists of the last reading.
  void describe(Detail& detail);
  // The same of these probes only: a device list costs, so nobody pays for one that is not looked at.
  void describe(Detail& detail, std::span<const std::string_view> probes);

  // Each device by itself (devices.csv). False when those of a probe are not known yet: they are taken with the first
  // row, whatever is known then.
  bool list_devices();
  void list_late_devices();
  // Their values at the last reading.
  void read_devices();
  DeviceTable& devices() { return devices_; }

  // What only a probe knows of the host, as far as it is known yet: GPUs, and how they are read.
  void fill_host(Run& run) const;

  bool wants_new_job() const;
  void new_job(pid_t pid);

 private:
  struct Source {
    const ProbeInfo* info;
    std::unique_ptr<Probe> probe;       // null: its columns stay empty
    std::array<Reading, 2> readings{};  // they take turns
    size_t newest = 0;
    Reading& now() { return readings[newest]; }
    Reading& before() { return readings[1 - newest]; }
    size_t first_device = 0, devices = 0;  // its values in devices_
    bool devices_listed = false;
  };
  struct Cell {
    size_t source;
    const Column* column;
  };
  Sampler(ProbeContext& context, Clock& clock) : context_(context), clock_(clock) {}
  void build_schema(bool compatible, const ProbeChoice& choice);
  void read();
  void list_devices_of(Source& source);

  ProbeContext& context_;
  Clock& clock_;
  std::vector<Source> sources_;
  std::vector<Cell> cells_;  // one a column of the schema but the first
  Schema schema_;
  DeviceTable devices_;
  static constexpr int64_t kTimeGrid = 8, kMostStepsNoted = 10;
  int64_t next_time(int64_t interval_ns);

  int64_t last_ns_ = 0, last_realtime_ns_ = 0, rows_ = 0;
  int64_t set_back_ = 0, steps_noted_ = 0;  // how often the clock was
};

}  // namespace tacho
