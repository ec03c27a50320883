// Which raw events count the data requests to the second-level cache and those that it could not answer. The kernel has
// generic events for the first and the last level only. Pure; thread-safe.
#pragma once
#include <optional>

#include "os/perf_counter.h"
#include "procfs/cpuinfo.h"

namespace tacho {

struct L2Events {
  PerfEvent requests, misses;
};

// Nothing: a processor that is not in the table, or cores of several kinds, whose counters do not add up.
std::optional<L2Events> l2_events(const CpuInfo& cpu);

}  // namespace tacho
