// The machine-wide probes: one file each, listed in probe/table.cc in the order in which they are read.
#pragma once
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kLoadProbe;
extern const ProbeInfo kCpuProbe;
extern const ProbeInfo kMemoryProbe;
extern const ProbeInfo kVmstatProbe;
extern const ProbeInfo kDiskProbe;
extern const ProbeInfo kNetProbe;
extern const ProbeInfo kPressureProbe;
extern const ProbeInfo kCgroupPressureProbe;
extern const ProbeInfo kSwapProbe;
extern const ProbeInfo kRaplProbe;

}  // namespace tacho
