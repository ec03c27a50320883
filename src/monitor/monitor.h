// `tacho monitor`: measures a task's machine until it is told to end, and leaves a runtime row and metrics rows in the
// spool, from which tacho-deliver sends them to BigQuery. No remote answer ends it or delays a sample.
#pragma once
#include "base/result.h"
#include "monitor/settings.h"
#include "os/clock.h"

namespace tacho {

// The exit status: 0, or 125 with --strict when not everything was delivered. An Error refuses the start.
Result<int> run_monitor(const MonitorSettings& settings, Clock& clock = system_clock());

}  // namespace tacho
