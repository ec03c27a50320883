// A sink moves rows to a place: a file, a pipe, later the spool. It is opened before the job starts, so that a bad
// destination refuses the start; afterwards a failure is reported once and never touches the job. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/detail.h"
#include "model/row.h"
#include "model/run.h"

namespace tacho {

inline constexpr mode_t kRunFileMode = 0600;  // of what lies in a run's folder

class SpoolSink;

inline constexpr std::string_view kStderr = "stderr:";  // the destination of rows that a person would see

class Sink {
 public:
  virtual ~Sink() = default;
  // Once, before the first row. A place that cannot take anything right now is no error yet: the rows tell.
  virtual Status begin(const Run& run, const Schema& schema) = 0;
  // Where wants_detail(): the device lists at the baseline, before the first row, so that its rates are known too.
  virtual void baseline(const Detail&) {}
  // One row; detail is null unless wants_detail(). Never allocates in a steady tick.
  virtual Status write(const Row& row, const Detail* detail) = 0;
  // Once, after the closing row, with the outcome filled in.
  virtual Status end(const Run& run) = 0;
  virtual bool wants_detail() const { return false; }
  // Before begin(): where the run is kept, when it is. A sink that reads it there ends when the store is complete.
  virtual void stored_in(const std::string& /*folder*/) {}
  virtual bool ends_after_store() const { return false; }
  virtual void discard() {}                   // the job never started: leave no trace
  virtual std::string_view name() const = 0;  // as the user wrote it
};

struct SinkOptions {
  std::string format;                           // "", "csv", "json": for a destination without a known extension
  bool compatible = false;                      // called as resource-tracker: whole seconds, whole MiB
  int64_t upload_interval_ns = 60'000'000'000;  // between the batches of a remote output
  bool no_cloud = false;                        // the deliverer asks no metadata server
  // Told of each sink whose rows go through the spool, once it is open: somebody has to send them. May be empty.
  std::function<void(SpoolSink& sink)> spooled = {};
};

// One line of `tacho list sinks`: matched by URI scheme or file extension.
struct SinkInfo {
  std::string_view name;     // "csv", "csv.gz", "jsonl", "html", "s3" …
  std::string_view pattern;  // ".csv", "s3://", "prom:"
  std::string_view help;
  Result<std::unique_ptr<Sink>> (*open)(const std::string& destination, const SinkOptions& options);
};

std::span<const SinkInfo> all_sinks();
// Finds the sink for what -o was given: URI scheme, then extension, then --format, else an error that lists what is
// known.
Result<const SinkInfo*> find_sink(const std::string& destination, const SinkOptions& options);
Result<std::unique_ptr<Sink>> open_sink(const std::string& destination, const SinkOptions& options);
// Whether both lead to one file or pipe, however they are spelled, or are the same word.
bool is_same_place(const std::string& one, const std::string& other);

}  // namespace tacho
