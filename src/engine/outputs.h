// Outputs: where rows go. Every sink gets every row; one that fails is reported once, quiet or not, noted in run.json,
// and never stops the others or the job. Not thread-safe.
#pragma once
#include <memory>
#include <vector>

#include "engine/settings.h"
#include "model/summary.h"
#include "sink/sink.h"

namespace tacho {

// How sinks are opened, by the settings.
SinkOptions sink_options(const Settings& settings);

class Outputs {
 public:
  // Opens all of them, behind the service's where there is one (may be null); a bad destination refuses the start.
  Status open(const Settings& settings, const SinkOptions& options, std::unique_ptr<Sink> service);
  // The run store, which gives the run its id. One that cannot be made refuses the start if the user named it, and is
  // reported and left out otherwise.
  Status open_run_store(const Settings& settings, Run& run, const Summary& summary);

  Status begin(const Run& run, const Schema& schema);
  void baseline(const Detail& detail);
  void write(const Row& row, const Detail* detail);
  void end(Run& run);  // the store last, when the notes tell what is missing elsewhere
  void discard();      // the job never started: leaves no trace of the run in the store

  const std::string& store_folder() const { return store_folder_; }
  bool wants_detail() const;
  bool failed() const { return failed_; }  // some row did not reach its place

 private:
  struct Output {
    std::unique_ptr<Sink> sink;
    bool is_store = false;
    bool told = false;
    int64_t lost = 0;          // writes that failed
    bool lost_at_end = false;  // all rows were written before
    std::string reason = {};   // of the first
  };
  void report(Output& output, const Status& status, bool at_end = false);
  bool note_losses(Run& run, bool late) const;  // whether there were any

  std::vector<Output> outputs_;
  bool failed_ = false;
  std::string store_folder_;
};

}  // namespace tacho
