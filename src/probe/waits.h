// What the job's threads wait for. The probe needs the process tree to be read before it in a tick.
#pragma once
#include <array>
#include <cstdint>

#include "probe/kit/probe.h"
#include "probe/tree/wait_rules.h"

namespace tacho {

extern const ProbeInfo kWaitsProbe;

inline constexpr int64_t kMostLooks = 64;  // in a tick
// Which of so many threads is the nth that a tick looks at, where they are too many to look at all: every so manieth,
// beginning with another one at each tick, so that after a while all have been looked at. Beyond the last: none. Pure.
int64_t looked_place(int64_t threads, int64_t tick, int64_t nth);

using WaitCounts = std::array<int64_t, kWaitStates>;
// So many threads in these proportions: whole numbers that add up to `threads`. Where fewer were seen than there are
// and all were meant to be, the rest is `other`. Pure.
WaitCounts scaled_waits(const WaitCounts& seen, int64_t threads, bool sampled);

}  // namespace tacho
