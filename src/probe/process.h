// The job's process tree as a probe.
#pragma once
#include "probe/kit/probe.h"

namespace tacho {

extern const ProbeInfo kProcessProbe;

}  // namespace tacho
