// Context switches of the job as a probe.
#pragma once
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kSwitchesProbe;

}  // namespace tacho
