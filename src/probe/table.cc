// The probes, in the order in which a tick reads them. A new probe is a new file and a new line here.
#include "probe/cgroup.h"
#include "probe/gpu.h"
#include "probe/perf.h"
#include "probe/process.h"
#include "probe/switches.h"
#include "probe/system.h"
#include "probe/waits.h"

namespace tacho {

std::span<const ProbeInfo> all_probes() {
  static const ProbeInfo probes[] = {
      kLoadProbe,   kCpuProbe,  kProcessProbe,  kWaitsProbe, kCgroupProbe,   kMemoryProbe,
      kVmstatProbe, kSwapProbe, kDiskProbe,     kNetProbe,   kPressureProbe, kCgroupPressureProbe,
      kRaplProbe,   kGpuProbe,  kGpuExtraProbe, kPerfProbe,  kSwitchesProbe,
  };
  return probes;
}

}  // namespace tacho
