// A session: from the baseline before the job starts to the closing row after it ended.
#pragma once
#include "base/result.h"
#include "engine/settings.h"

namespace tacho {

// Runs to the end and returns the exit status of cli.md. An Error means that nothing was started (exit 125).
Result<int> run_session(const Settings& settings);

}  // namespace tacho
