#include "engine/live_feed.h"

#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

double known_or_absent(double value) { return value < 0 ? kAbsent : value; }

}  // namespace

LiveFeed::LiveFeed(ProbeContext& context, Sampler& sampler, bool reads_devices)
    : context_(context), sampler_(sampler), reads_devices_(reads_devices), list_(context.roots.proc) {
  if (reads_devices_) {
    all_listed_ = sampler_.list_devices();
    sampler_.read_devices();
  }
  take_processes(system_clock().monotonic_ns());  // the first look: rates begin here
}

void LiveFeed::take(const Run& run, const Row& row, int64_t now_ns) {
  if (state_.figures.empty()) state_.figures.begin(run, sampler_.schema());
  state_.figures.add(row);
  take_devices(row);
  take_processes(now_ns);
}

void LiveFeed::take_devices(const Row& row) {
  if (reads_devices_) {
    if (!all_listed_) sampler_.list_late_devices();
    all_listed_ = true;
    sampler_.read_devices();
  }
  std::vector<std::string> names;
  for (const DeviceColumn& column : sampler_.devices().columns()) names.push_back(column.name);
  const double seconds = static_cast<double>(row.interval_ns) / static_cast<double>(kNsPerSec);
  state_.devices = live_devices(names, sampler_.devices().cells(seconds));
}

void LiveFeed::take_processes(int64_t now_ns) {
  state_.processes.clear();
  if (context_.job_pids != nullptr) {
    context_.job_pids->copy(pids_);
    if (pids_.empty()) return;
  }
  if (!list_.update(pids_, now_ns)) return;
  for (const ListedProcess& listed : list_.processes()) {
    LiveProcess process{listed.pid, listed.parent, listed.name, known_or_absent(listed.cpu_cores)};
    process.memory_bytes = known_or_absent(static_cast<double>(listed.rss_bytes));
    process.io_bytes = known_or_absent(listed.io_bytes_per_s);
    for (const ProcessVram& vram : context_.vram)
      if (vram.pid == listed.pid && context_.vram_told)
        process.gpu_bytes = (is_absent(process.gpu_bytes) ? 0 : process.gpu_bytes) + static_cast<double>(vram.bytes);
    state_.processes.push_back(std::move(process));
  }
}

}  // namespace tacho
