// What the run folder has besides run.json and metrics.csv: processes.csv, devices.csv, marks.csv (docs/run-folder.md).
// None of them may stop the job or the run's own files: what fails is told once and noted. Not thread-safe.
#pragma once
#include <optional>
#include <string>

#include "engine/process_recorder.h"
#include "engine/sampler.h"
#include "engine/settings.h"
#include "model/summary.h"
#include "sink/device_file.h"

namespace tacho {

class RunRecord {
 public:
  // folder: of the run in the store; empty: there is none, and nothing is kept. tree may be null.
  void open(const Settings& settings, const std::string& folder, const Run& run, ProcessTree* tree,
            ProbeContext& context);
  // For the job's environment; empty without a store.
  const std::string& folder() const { return folder_; }
  bool has_processes() const { return processes_.has_value(); }
  bool has_devices() const { return devices_.has_value(); }

  // After the baseline's reading. The command is not started yet, where it is tacho that starts it.
  void begin(Sampler& sampler, const Run& run);
  // After each sample, with its row; whether an output failed, and said so.
  void tick(Sampler& sampler, const Row& row, bool store_failed);
  // After the closing row is written: processes.csv is put in order, and phases are told to the run.
  void finish(Run& run, const Summary& summary);

 private:
  void tell(const Status& status);

  std::string folder_;
  ProbeContext* context_ = nullptr;
  std::optional<ProcessRecorder> processes_;
  std::optional<DeviceFile> devices_;
  bool devices_failed_ = false;
  bool told_ = false, store_failed_ = false;
};

}  // namespace tacho
