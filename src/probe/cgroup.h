// The job's cgroup as a probe: what the container sees and is limited to, since host figures mislead inside one.
#pragma once
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kCgroupProbe;

}  // namespace tacho
