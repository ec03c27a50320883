// What a GPU vendor's back-end offers, and what one round of it yields. A back-end lives on the GPU thread alone and
// may block there; samples are plain values that are copied to the sampling thread. In a steady round nothing is
// allocated.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/units.h"
#include "model/process_record.h"

namespace tacho {

// What does not change while a device is there.
struct GpuIdentity {
  std::string uuid, name, driver_version, pci_bus_id, rocm_version;
  std::string_view pci_key = "pci_bus_id";  // how pci_bus_id is called in the details
  std::optional<int64_t> core_count, vram_total_bytes;
};

// One device at one moment. Empty is unknown; a device that fails has all of it empty.
struct GpuSample {
  std::optional<int64_t> usage_ppm;  // millionths of this GPU
  std::optional<int64_t> vram_used_bytes, vram_total_bytes;
  // Kept up to date when the request wants detail; clock_events is the driver's mask of why the clock is not higher.
  std::optional<int64_t> temperature_mc, power_mw, frequency_mhz, sm_clock_mhz, clock_events;
  // The share of the job's processes; empty when none is tracked.
  std::optional<int64_t> job_usage_ppm, job_vram_bytes;
  std::optional<bool> job_context;  // a process of the job holds a context here
};

struct GpuRequest {
  bool job = false;         // a job is tracked: fill its share
  bool detail = false;      // temperature, power and clock are wanted too
  std::vector<pid_t> pids;  // the job's processes now, ascending
};

enum class GpuState {
  starting,  // nothing known yet
  none,      // no such hardware or driver here
  ready,
  failed,  // a driver is there and does not answer
};

enum class PidMapping {
  same,     // the driver counts processes as we do
  unknown,  // another pid namespace, and nothing proves how the driver numbers processes in it
};

class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  // One round: opens or re-opens what is due, appends one sample a device and tells how it stands.
  virtual GpuState sample(const GpuRequest& request, std::vector<GpuSample>& out) = 0;
  // As many as sample() appends. A new object whenever something in it changed.
  virtual std::shared_ptr<const std::vector<GpuIdentity>> identities() const = 0;
  // After an answer was given: renews what takes longer and may be a row late (temperature, power, clock).
  virtual void refresh_detail() {}
  // Of the job's processes in the last round, each by itself; a process may be named several times.
  virtual std::span<const ProcessVram> holders() const { return {}; }
  virtual PidMapping pid_mapping() const { return PidMapping::same; }
  virtual std::string_view method() const = 0;  // as in run.json: "nvml", "amdgpu"
};

// When an attempt that failed is made again.
class BackOff {
 public:
  bool due(int64_t now_ns) const { return now_ns >= next_ns_; }
  bool active() const { return pause_ns_.attempts() > 0; }
  void failed(int64_t now_ns) { next_ns_ = now_ns + pause_ns_.next(); }
  void succeeded() { pause_ns_.reset(), next_ns_ = 0; }

 private:
  DoublingPause pause_ns_{100 * kNsPerMs, 60 * kNsPerSec};
  int64_t next_ns_ = 0;
};

}  // namespace tacho
