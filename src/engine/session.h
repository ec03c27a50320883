// A session: from the baseline before the job starts to the closing row after it ended.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "engine/settings.h"
#include "model/run.h"
#include "os/clock.h"

namespace tacho {

// Told once, when the baseline is read: what happens from now on is recorded. folder: in the run store, empty without
// one. An error ends the session.
using SessionBegun = std::function<Status(const Run& run, const std::string& folder)>;

struct SessionEnd {
  int exit_status = 0;       // the job's own as a shell gives it, or tacho's 124 to 127
  int signal = 0;            // the program is to end by this one, as the job did; 0: by the status
  bool not_started = false;  // there is no such command, or it cannot be executed (126, 127); it was said
};

// Runs to the end. An Error means that nothing was started (exit 125).
// Another clock replays time for tests and benchmarks.
Result<SessionEnd> run_session(const Settings& settings, Clock& clock = system_clock(), const SessionBegun& begun = {});

}  // namespace tacho
