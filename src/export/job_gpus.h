// A job's GPUs one by one, from the devices.csv of its runs. Thread-safe (no state).
#pragma once
#include <map>
#include <span>

#include "report/store/store.h"

namespace tacho {

struct JobGpu {
  int64_t total_bytes = 0, peak_bytes = 0;
  double mean_percent = 0;
};
using JobGpus = std::map<int64_t, JobGpu>;  // by the device's number

// Those of the runs of one node, which `node` stands for. None where the job got fewer devices than the machine shows:
// nothing tells which ones are its own. A device whose memory is not known is left out.
JobGpus job_gpus(const Run& node, std::span<const StoredRun> runs);

}  // namespace tacho
