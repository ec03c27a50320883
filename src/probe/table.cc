// The probes, in the order in which a tick reads them. A new probe is a new file and a new line here.
#include "probe/kit/probe.h"

#define TACHO_PROBES(PROBE) \
  PROBE(Load)               \
  PROBE(Cpu)                \
  PROBE(Process)            \
  PROBE(Waits)              \
  PROBE(Cgroup)             \
  PROBE(Memory)             \
  PROBE(Vmstat)             \
  PROBE(Swap)               \
  PROBE(Disk)               \
  PROBE(Net)                \
  PROBE(Pressure)           \
  PROBE(CgroupPressure)     \
  PROBE(Rapl)               \
  PROBE(Gpu)                \
  PROBE(GpuExtra)           \
  PROBE(Perf)               \
  PROBE(Switches)           \
  PROBE(Exits)

namespace tacho {

#define TACHO_DECLARE(name) extern const ProbeInfo k##name##Probe;
#define TACHO_LIST(name) k##name##Probe,
TACHO_PROBES(TACHO_DECLARE)

std::span<const ProbeInfo> all_probes() {
  static const ProbeInfo probes[] = {TACHO_PROBES(TACHO_LIST)};
  return probes;
}

#undef TACHO_DECLARE
#undef TACHO_LIST

const ProbeInfo* find_probe(std::string_view name) {
  for (const ProbeInfo& probe : all_probes())
    if (probe.name == name) return &probe;
  return nullptr;
}

}  // namespace tacho
