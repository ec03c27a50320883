// The ends of processes as a probe.
#pragma once
#include "probe/probe.h"

namespace tacho {

extern const ProbeInfo kExitsProbe;

}  // namespace tacho
