// Hardware performance counters as a probe.
#pragma once
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kPerfProbe;

}  // namespace tacho
