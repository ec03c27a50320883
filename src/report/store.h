// Reading the local run store: <dir>/<id>/run.json and metrics.csv. Thread-safe (no state).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/run.h"
#include "model/summary.h"

namespace tacho {

struct StoredRun {
  Run run;
  std::vector<std::pair<std::string, Statistics>> statistics;  // by column, in the order of run.json
  int64_t rows = 0;
  std::string folder;  // where run.json is
  std::string json;    // run.json as it is on disk (or repaired, see below)
};

// $TACHO_STORE, else $XDG_STATE_HOME/tacho/runs, else ~/.local/state/tacho/runs, else /var/tmp/tacho-<uid>/runs.
std::string default_store_dir();

// The last of these is below a folder that everybody may write to: somebody else may have made it before us. denied: it is not
// ours, or others may write to it. Any other place is the user's own word, and is not judged here.
Status check_run_store(const std::string& store_dir);

// Newest first. Unreadable folders are skipped with a warning.
Result<std::vector<StoredRun>> list_runs(const std::string& store_dir);
// A run id, a unique prefix of one, "last", or a path to a run folder or run.json. The error names the nearest id. A run
// whose tacho died (state running, no such process) is shown as interrupted, its statistics folded again from metrics.csv.
Result<StoredRun> find_run(const std::string& store_dir, const std::string& name);

}  // namespace tacho
