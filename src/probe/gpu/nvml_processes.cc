#include "probe/gpu/nvml_processes.h"

#include <algorithm>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

// The driver makes a sample every 200 ms and a call costs about 2 ms: asking much sooner gains nothing.
constexpr int64_t kUsagePaceNs = 450 * kNsPerMs;
constexpr int64_t kNoUsagePaceNs = 240 * kNsPerMs;
constexpr long long kHourUs = 3'600'000'000;

bool is_member(const std::vector<pid_t>& sorted, pid_t pid) {
  return std::binary_search(sorted.begin(), sorted.end(), pid);
}

// Calls until the buffer is large enough. Returns the code and how many entries were filled.
template <class Entry, class Call>
nvml::Return fill(std::vector<Entry>& buffer, size_t at_least, unsigned int& count, Call call) {
  if (buffer.size() < at_least) buffer.resize(at_least);
  nvml::Return code = nvml::kInsufficientSize;
  for (int attempt = 0; attempt < 3 && code == nvml::kInsufficientSize; ++attempt) {
    std::fill(buffer.begin(), buffer.end(), Entry{});
    count = static_cast<unsigned int>(buffer.size());
    code = call(&count, buffer.data());
    // Processes may start between two calls: some more than the driver asks for.
    if (code == nvml::kInsufficientSize) buffer.resize(std::max<size_t>(count, buffer.size()) + 32);
  }
  if (code != nvml::kSuccess) count = 0;
  count = std::min(count, static_cast<unsigned int>(buffer.size()));
  return code;
}

bool is_missing(nvml::Return code) {
  return code == nvml::kFunctionNotFound || code == nvml::kArgumentVersionMismatch || code == nvml::kDeprecated;
}

bool is_fatal(nvml::Return code) {
  return code == nvml::kUninitialized || code == nvml::kDriverNotLoaded || code == nvml::kGpuIsLost;
}

}  // namespace

bool NvmlJob::has(pid_t pid) const { return is_member(pids, pid); }
bool NvmlJob::had(pid_t pid) const { return is_member(pids_before, pid); }

void NvmlProcesses::add_holder(size_t first, pid_t pid, unsigned long long bytes) {
  for (size_t i = first; i < holders_.size(); ++i) {
    Holder& known = holders_[i];
    if (known.pid != pid) continue;
    // The same memory again, in another list; or known only there.
    if (known.bytes == nvml::kValueNotAvailable) known.bytes = bytes;
    else if (bytes != nvml::kValueNotAvailable) known.bytes = std::max(known.bytes, bytes);
    return;
  }
  holders_.push_back({pid, bytes});
}

// True when the driver told who holds a compute context (or, where it cannot, a graphics one).
bool NvmlProcesses::add_lists(const nvml::Api& api, nvml::Device device, NvmlJob& job, nvml::Return& code) {
  const size_t first = holders_.size();
  bool known = false;
  for (size_t list = 0; list < std::size(api.processes); ++list) {
    unsigned int count = 0;
    nvml::Return got = nvml::kFunctionNotFound;
    if (api.processes[list] != nullptr) {
      got = fill(job.infos, 64, count, [&](auto* n, auto* data) { return api.processes[list](device, n, data); });
      for (unsigned int i = 0; i < count; ++i) {
        const auto pid = static_cast<pid_t>(job.infos[i].pid);
        if (job.has(pid)) add_holder(first, pid, job.infos[i].used_gpu_memory);
      }
    }
    if (is_missing(got) && api.processes_v1[list] != nullptr) {
      got = fill(job.infos_v1, 64, count, [&](auto* n, auto* data) { return api.processes_v1[list](device, n, data); });
      for (unsigned int i = 0; i < count; ++i) {
        const auto pid = static_cast<pid_t>(job.infos_v1[i].pid);
        if (job.has(pid)) add_holder(first, pid, job.infos_v1[i].used_gpu_memory);
      }
    }
    if (is_fatal(got)) {
      code = got;
      return false;
    }
    known = known || got == nvml::kSuccess;
    // Compute contexts hidden from us: the other lists alone would say too little.
    if (list == 0 && got == nvml::kNoPermission) return false;
  }
  return known;
}

int64_t NvmlProcesses::mean_usage_ppm(NvmlJob& job, size_t count) {
  const auto samples = std::span(job.samples).first(count);
  unsigned long long newest = 0;
  for (const auto& sample : samples) newest = std::max(newest, sample.time_stamp);
  // A driver that counts from another moment than 1970 is recognised by its first answer.
  if (newest != 0 && std::llabs(static_cast<long long>(newest - last_seen_us_)) > kHourUs) {
    const auto span_us = static_cast<unsigned long long>(job.interval_ns / kNsPerUs);
    last_seen_us_ = newest > span_us ? newest - span_us : 0;
  }
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  int64_t total_ppm = 0;
  for (size_t i = 0; i < samples.size();) {
    const auto pid = static_cast<pid_t>(samples[i].pid);
    // Of a process that ended since the last round the last samples still count. In a foreign namespace the driver
    // mixes numbers of the host in, so there the process must be one that it listed.
    const bool ours = pid > 0 && (job.has(pid) || job.had(pid)) &&
                      (job.mapping.initial() || is_member(held_before_, pid) ||
                       std::any_of(holders_.begin(), holders_.end(), [&](const Holder& h) { return h.pid == pid; }));
    int64_t sum = 0, n = 0;
    for (; i < samples.size() && static_cast<pid_t>(samples[i].pid) == pid; ++i) {
      const bool stale = samples[i].time_stamp != 0 && samples[i].time_stamp <= last_seen_us_;
      if (stale || samples[i].sm_util > 100) continue;  // drivers leave garbage in unused entries
      sum += samples[i].sm_util;
      ++n;
    }
    if (ours && n > 0) total_ppm += sum * 10'000 / n;
  }
  last_seen_us_ = std::max(last_seen_us_, newest);
  return total_ppm;
}

void NvmlProcesses::read_usage(const nvml::Api& api, nvml::Device device, NvmlJob& job, nvml::Return& code) {
  const int64_t now_ns = system_clock().monotonic_ns();
  if (now_ns < next_usage_ns_ && usage_ppm_) return;
  usage_ppm_.reset();
  if (api.process_utilization == nullptr) return;
  // Never 0: that would bring back what happened long before the job.
  if (last_seen_us_ == 0)
    last_seen_us_ = static_cast<unsigned long long>(
        std::max<int64_t>(1, (system_clock().realtime_ns() - job.interval_ns) / kNsPerUs));
  unsigned int count = 0;
  const nvml::Return got = fill(job.samples, 128, count, [&](auto* n, auto* data) {
    return api.process_utilization(device, data, n, last_seen_us_);
  });
  if (is_fatal(got)) {
    code = got;
  } else if (got == nvml::kNotFound) {
    usage_ppm_ = 0;  // no samples: no process ran
    next_usage_ns_ = now_ns + kNoUsagePaceNs;
  } else if (got == nvml::kSuccess) {
    usage_ppm_ = mean_usage_ppm(job, count);
    next_usage_ns_ = now_ns + (*usage_ppm_ > 0 ? kUsagePaceNs : kNoUsagePaceNs);
  }
}

nvml::Return NvmlProcesses::read(const nvml::Api& api, nvml::Device device, std::span<const nvml::Device> instances,
                                 NvmlJob& job, GpuSample& out) {
  nvml::Return code = nvml::kSuccess;
  holders_.clear();
  bool listed = false;
  for (const nvml::Device instance : instances) listed = add_lists(api, instance, job, code) || listed;
  if (!listed) listed = add_lists(api, device, job, code);
  if (code != nvml::kSuccess) return code;
  for (const Holder& holder : holders_) job.mapping.consider(holder.pid);
  if (!job.mapping.trusted()) return code;

  if (listed) {
    out.job_context = !holders_.empty();
    int64_t bytes = 0;
    bool known = holders_.empty();
    for (const Holder& holder : holders_) {
      if (holder.bytes == nvml::kValueNotAvailable) continue;
      bytes += static_cast<int64_t>(holder.bytes);
      job.holders.push_back({holder.pid, static_cast<int64_t>(holder.bytes)});
      known = true;
    }
    if (known) out.job_vram_bytes = bytes;
  }
  // Without a process, or without a context now and a moment ago, nothing of the job can have run here.
  const bool no_process = job.pids.empty() && job.pids_before.empty();
  if (no_process || (listed && holders_.empty() && held_before_.empty())) usage_ppm_ = 0;
  else read_usage(api, device, job, code);
  out.job_usage_ppm = usage_ppm_;
  held_before_.clear();
  for (const Holder& holder : holders_) held_before_.push_back(holder.pid);
  std::sort(held_before_.begin(), held_before_.end());
  return code;
}

}  // namespace tacho
