// A session: from the baseline before the job starts to the closing row after it ended.
#pragma once
#include "base/result.h"
#include "engine/settings.h"
#include "os/clock.h"

namespace tacho {

// Runs to the end and returns the exit status: the job's own, or 124 to 127. An Error means that nothing was started (exit 125).
// Another clock replays time for tests and benchmarks.
Result<int> run_session(const Settings& settings, Clock& clock = system_clock());

}  // namespace tacho
