// run.json read again, whatever version or damage: what has the wrong type is left out, what is unknown is ignored.
// Thread-safe (no state).
#pragma once
#include <string>

#include "base/result.h"
#include "report/store/store.h"

namespace tacho {

// folder stays empty.
Result<StoredRun> parse_run_json(std::string text, Kept kept = Kept::all);

// The writer died: state and json say interrupted; with `refold`, rows and statistics come from metrics.csv again.
void mark_interrupted(StoredRun& stored, bool refold);

}  // namespace tacho
