// The probes, in the order in which a tick reads them. A new probe is a new file and a new line here.
#include "probe/cgroup.h"
#include "probe/process.h"
#include "probe/system.h"

namespace tacho {
namespace {

const ProbeInfo* const kProbes[] = {
    &kLoadProbe, &kCpuProbe, &kProcessProbe, &kCgroupProbe, &kMemoryProbe, &kVmstatProbe, &kDiskProbe, &kNetProbe,
    &kPressureProbe,
};

}  // namespace

std::span<const ProbeInfo* const> all_probes() { return kProbes; }

}  // namespace tacho
