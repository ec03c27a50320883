// The GPU thread and its letter box. The sampling thread asks at the start of a tick and looks for the answer at the
// end of it, waiting a few milliseconds at most; the driver may take as long as it likes. An answer that comes late is
// found at the next tick. All functions are for the sampling thread; none of them blocks on the driver.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "os/thread.h"
#include "probe/gpu/gpu_device.h"

namespace tacho {

struct GpuSnapshot {
  int64_t stamp_ns = 0;  // CLOCK_MONOTONIC when it was complete; 0: none yet
  GpuState state = GpuState::starting;
  PidMapping pids = PidMapping::same;
  bool job = false;  // a job's share was asked for
  std::vector<GpuSample> devices;
  std::vector<ProcessVram> holders;  // of the job, in any order
  std::shared_ptr<const std::vector<GpuIdentity>> identities;
  std::string_view method = "none";
};

class GpuSampler : public std::enable_shared_from_this<GpuSampler> {
 public:
  explicit GpuSampler(std::vector<std::unique_ptr<GpuBackend>> backends) : backends_(std::move(backends)) {}
  // False when the system gives no thread.
  bool start();
  // The thread ends after what it is doing; nobody waits for it.
  void stop();

  // Swaps the pids with those of the request before, so that both keep their memory.
  void request(std::vector<pid_t>& pids, bool job, bool detail);
  // Waits for the answer to the last request until deadline_ns, but not at all when the thread was already busy when
  // it was asked (the driver starts, or hangs). True when `out` was replaced by a snapshot that was not taken yet.
  bool take(int64_t deadline_ns, GpuSnapshot& out);

 private:
  void run();
  void round(const GpuRequest& request, GpuSnapshot& snapshot);

  WaitLock wait_lock_;
  // Guarded by wait_lock_.
  GpuRequest next_;
  GpuSnapshot published_;
  uint64_t asked_ = 0, answered_ = 0, taken_ = 0;
  bool idle_ = false;  // the thread waits for work
  bool worth_waiting_ = false;
  bool stopping_ = false;
  // Of the GPU thread.
  std::vector<std::unique_ptr<GpuBackend>> backends_;
  std::vector<std::shared_ptr<const std::vector<GpuIdentity>>> seen_;
  std::shared_ptr<const std::vector<GpuIdentity>> latest_;  // all of seen_ in one list
};

}  // namespace tacho
