#include "export/job_gpus.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "base/units.h"
#include "report/store/input.h"

namespace tacho {
namespace {

struct DeviceFold {
  double weighted = 0, seconds = 0, peak_mib = kAbsent;
};

void fold_devices(const StoredRun& stored, std::span<DeviceFold> devices) {
  CsvReader reader;
  if (stored.folder.empty() || !reader.open(stored.folder + "/devices.csv")) return;
  Summary summary;
  summary.begin(reader.schema());
  each_row(reader, stored.run, [&](const Row& row) { summary.add(row); });
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string prefix = "gpu_" + std::to_string(i);
    const Statistics usage = summary.column(prefix + "_usage"), memory = summary.column(prefix + "_vram_mib");
    if (memory.rows > 0) devices[i].peak_mib = std::fmax(devices[i].peak_mib, memory.max);
    if (usage.rows == 0 || is_absent(usage.mean)) continue;
    devices[i].weighted += usage.mean * summary.duration_s();
    devices[i].seconds += summary.duration_s();
  }
}

// In bytes. The sum over several devices says nothing of one.
std::optional<int64_t> memory_of(const Host& host, size_t device) {
  std::optional<int64_t> mib = host.host_gpu_count == 1 ? host.host_gpu_memory_mib : std::nullopt;
  if (device < host.gpu_memory_mib.size()) mib = host.gpu_memory_mib[device];
  if (!mib || *mib <= 0 || *mib > std::numeric_limits<int64_t>::max() / kMiB) return std::nullopt;
  return *mib * kMiB;
}

}  // namespace

JobGpus job_gpus(const Run& node, std::span<const StoredRun> runs) {
  constexpr int64_t kMostDevices = 1024;
  const int64_t count = node.host.host_gpu_count.value_or(0);
  const std::optional<int64_t>& asked = node.started_by.requested.gpus;
  if (count <= 0 || count > kMostDevices || asked.value_or(count) != count) return {};
  // Tasks that each see devices of their own number them alike.
  if (runs.size() > 1 && !asked) return {};
  std::vector<DeviceFold> devices(static_cast<size_t>(count));
  for (const StoredRun& stored : runs) {
    if (stored.run.host.host_gpu_count != count) return {};
    fold_devices(stored, devices);
  }
  JobGpus gpus;
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceFold& device = devices[i];
    const auto total_bytes = memory_of(node.host, i);
    if (!total_bytes || is_absent(device.peak_mib) || !(device.seconds > 0)) continue;
    gpus[static_cast<int64_t>(i)] = {*total_bytes, std::llround(device.peak_mib * static_cast<double>(kMiB)),
                                     100 * device.weighted / device.seconds};
  }
  return gpus;
}

}  // namespace tacho
