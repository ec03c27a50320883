// run.json read again, whatever version or damage: what has the wrong type is left out, what is unknown is ignored.
// Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/store/store.h"

namespace tacho {

// Kept::facts leaves out the statistics that facts_of() does not ask for, most of them where a hundred thousand runs
// are read.
enum class Kept { all, facts };
// folder and json stay empty.
Result<StoredRun> parse_run_text(std::string_view text, Kept kept);
// folder stays empty.
Result<StoredRun> parse_run_json(std::string text, Kept kept = Kept::all);
// What is said of a run.json that cannot be understood.
Error damaged_run(Error error, const std::string& folder);

// Whether its tacho died: such a run still says that it is running.
bool is_abandoned(const StoredRun& stored);

// The writer died: state and json say interrupted; with `refold`, rows and statistics come from metrics.csv again.
void mark_interrupted(StoredRun& stored, bool refold);

}  // namespace tacho
