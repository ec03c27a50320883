// The job's process tree as a probe.
#pragma once
#include "probe/probe.h"

namespace tacho {

extern const ProbeInfo kProcessProbe;

}  // namespace tacho
