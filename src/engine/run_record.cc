#include "engine/run_record.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "report/store/phases.h"
#include "sink/marks_file.h"

namespace tacho {

void RunRecord::tell(const Status& status) {
  if (status) return;
  Error error = status.error();
  error.hint += error.hint.empty() ? "" : "; ";
  error.hint += "the job goes on, and so do run.json and metrics.csv";
  // The folder's own files have told already: one loss, one line.
  if (!told_ && !store_failed_) log::error(error.message());
  told_ = true;
  context_->note("lines may be missing in " + std::filesystem::path(error.path).filename().string() + ": " +
                 status.error().what);
}

void RunRecord::open(const Settings& settings, const std::string& folder, const Run& run, ProcessTree* tree,
                     ProbeContext& context) {
  if (folder.empty()) return;
  std::error_code failed;
  folder_ = std::filesystem::absolute(folder, failed).string();
  context_ = &context;
  tell(make_marks_file(folder_));
  if (settings.processes > 0 && tree != nullptr) {
    auto file = ProcessFile::create(folder_, settings.processes);
    if (!file) return tell(file.error());
    processes_.emplace(std::move(*file), *tree, context,
                       ProcessRecordOptions{settings.processes, is_hidden(run, "command"), is_hidden(run, "pid")});
    tree->observe(&*processes_);
  }
  if (settings.devices) {
    auto file = DeviceFile::create(folder_);
    if (!file) return tell(file.error());
    devices_.emplace(std::move(*file));
  }
}

void RunRecord::begin(Sampler& sampler, const Run& run) {
  if (processes_ && run.mode == kModeRun) processes_->set_job(run.outcome.started_realtime_ns, run.command);
  if (!devices_) return;
  if (sampler.list_devices()) devices_->begin(sampler.devices().columns());
  sampler.read_devices();
}

void RunRecord::tick(Sampler& sampler, const Row& row, bool store_failed) {
  store_failed_ = store_failed;
  if (processes_) tell(processes_->tick(row.closing));
  if (!devices_) return;
  if (!devices_->begun()) {
    sampler.list_late_devices();
    devices_->begin(sampler.devices().columns());
  }
  sampler.read_devices();
  const double seconds = static_cast<double>(row.interval_ns) / static_cast<double>(kNsPerSec);
  const Status written = devices_->write(row, sampler.devices().cells(seconds));
  if (!written && !std::exchange(devices_failed_, true)) tell(written);
}

void RunRecord::finish(Run& run, const Summary& summary) {
  if (folder_.empty()) return;
  if (processes_) {
    const double user_s = summary.column("process_utime").sum, system_s = summary.column("process_stime").sum;
    const double total_s = (std::isfinite(user_s) ? user_s : 0) + (std::isfinite(system_s) ? system_s : 0);
    tell(processes_->finish(static_cast<int64_t>(total_s * static_cast<double>(kNsPerSec))));
  }
  fold_phases(folder_, run);
}

}  // namespace tacho
