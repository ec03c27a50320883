// What the job's threads wait for. The probe needs the process tree to be read before it in a tick.
#pragma once
#include <array>
#include <cstdint>

#include "probe/kit/probe.h"
#include "probe/tree/wait_rules.h"

namespace tacho {

extern const ProbeInfo kWaitsProbe;

using WaitCounts = std::array<int64_t, kWaitStates>;
// So many threads in these proportions: whole numbers that add up to `threads`. Where fewer were seen than there are
// and all were meant to be, the rest is `other`. Pure.
WaitCounts scaled_waits(const WaitCounts& seen, int64_t threads, bool sampled);

}  // namespace tacho
