#include "engine/outputs.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "os/disk_full.h"
#include "sink/store.h"

namespace tacho {

SinkOptions sink_options(const Settings& settings) {
  SinkOptions options;
  options.format = settings.format;
  options.compatible = settings.compatible;
  options.upload_interval_ns = settings.upload_interval_ns;
  options.no_cloud = settings.no_cloud;
  return options;
}

Status Outputs::open(const Settings& settings, const SinkOptions& options, std::unique_ptr<Sink> service) {
  // The spool comes first: a row is there before it is anywhere else.
  if (service) outputs_.push_back({.sink = std::move(service)});
  // A misspelt one leaves not even an empty file of the others.
  for (const std::string& destination : settings.outputs) {
    if (const auto sink = find_sink(destination, options); !sink) {
      discard();
      return sink.error();
    }
  }
  for (auto at = settings.outputs.begin(); at != settings.outputs.end(); ++at) {
    const std::string& destination = *at;
    const auto same = [&](const std::string& before) { return is_same_place(before, destination); };
    if (const auto before = std::find_if(settings.outputs.begin(), at, same); before != at) {
      discard();
      const std::string other = *before == destination ? "" : "as " + *before + "; ";
      return Error{Code::invalid, "the output is named twice", destination,
                   other + "its rows would be mixed up; name it once"};
    }
    auto sink = open_sink(destination, options);
    if (!sink) {
      discard();
      return sink.error();
    }
    outputs_.push_back({.sink = std::move(*sink)});
  }
  return ok();
}

Status Outputs::open_run_store(const Settings& settings, Run& run, const Summary& summary) {
  if (settings.store_dir.empty()) return ok();
  auto sink = open_store(settings.store_dir, run, summary);
  if (!sink) {
    Error error = sink.error();
    // A place that cannot be right refuses the start; a full disk may have room again, and never stops a job.
    if (settings.store_named && !is_disk_full(error)) return error;
    error.what = "this run is not kept in the run store: " + error.what;
    log::error(error.message());
    failed_ = true;
    return ok();
  }
  store_folder_ = settings.store_dir + "/" + run.id;
  for (Output& output : outputs_) output.sink->stored_in(store_folder_);
  outputs_.push_back({.sink = std::move(*sink), .is_store = true});
  return ok();
}

Status Outputs::begin(const Run& run, const Schema& schema) {
  for (Output& output : outputs_) {
    const Status status = output.sink->begin(run, schema);
    if (status) continue;
    if (output.is_store) report(output, status);
    else if (!is_disk_full(status.error())) return status.error();  // that may pass: the first row tells
  }
  return ok();
}

void Outputs::baseline(const Detail& detail) {
  for (Output& output : outputs_)
    if (output.sink->wants_detail()) output.sink->baseline(detail);
}

void Outputs::report(Output& output, const Status& status, bool at_end) {
  if (status) return;
  failed_ = true;
  Error error = status.error();
  if (error.path.empty()) error.path = output.sink->name();
  if (output.lost++ == 0) {
    output.reason = error.what + (error.hint.empty() ? "" : ": " + error.hint);
    output.lost_at_end = at_end;
  }
  if (std::exchange(output.told, true)) return;
  if (!at_end) error.hint += std::string(error.hint.empty() ? "" : "; ") + "the job goes on, rows are tried again";
  log::error(error.message());
}

bool Outputs::note_losses(Run& run, bool late) const {
  const size_t before = run.notes.size();
  for (const Output& output : outputs_) {
    if (output.lost == 0 || output.sink->ends_after_store() != late) continue;
    const std::string name(output.is_store ? "the run store" : output.sink->name());
    run.notes.push_back(output.lost_at_end ? "the end is missing in " + name + " (" + output.reason + ")"
                                           : "rows are missing in " + name + " (" + std::to_string(output.lost) +
                                                 " writes failed, " + output.reason + ")");
  }
  return run.notes.size() > before;
}

void Outputs::write(const Row& row, const Detail* detail) {
  for (Output& output : outputs_)
    report(output, output.sink->write(row, output.sink->wants_detail() ? detail : nullptr));
}

void Outputs::end(Run& run) {
  for (const bool late : {false, true})
    for (Output& output : outputs_) {
      if (output.sink->ends_after_store() != late) continue;
      if (output.is_store) note_losses(run, false);
      report(output, output.sink->end(run), true);
    }
  // What failed only now is told in a run.json that was whole already.
  if (!note_losses(run, true)) return;
  for (Output& output : outputs_)
    if (output.is_store) report(output, output.sink->end(run), true);
}

void Outputs::discard() {
  for (Output& output : outputs_) output.sink->discard();
  outputs_.clear();
}

bool Outputs::wants_detail() const {
  for (const Output& output : outputs_)
    if (output.sink->wants_detail()) return true;
  return false;
}

}  // namespace tacho
