// From a sampler to what a live view shows: the row's figures, cores and GPUs, and the processes one by one. Looking
// costs little, but allocates: nobody has one who did not ask for it. Not thread-safe.
#pragma once
#include <vector>

#include "engine/sampler.h"
#include "probe/tree/process_list.h"
#include "report/live/live_picture.h"

namespace tacho {

class LiveFeed {
 public:
  // reads_devices: nobody else has the sampler read them.
  LiveFeed(ProbeContext& context, Sampler& sampler, bool reads_devices);
  // After each sample. The run must have its host by now.
  void take(const Run& run, const Row& row, int64_t now_ns);
  const LiveState& state() const { return state_; }
  LiveState& state() { return state_; }

 private:
  void take_devices(const Row& row);
  void take_processes(int64_t now_ns);

  ProbeContext& context_;
  Sampler& sampler_;
  bool reads_devices_, all_listed_ = false;
  ProcessList list_;
  std::vector<pid_t> pids_;
  LiveState state_;
};

}  // namespace tacho
