// The ends of processes as a probe.
#pragma once
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kExitsProbe;

}  // namespace tacho
