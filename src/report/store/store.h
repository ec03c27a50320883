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
  std::string short_id;  // as much of the id as is unique in its store; empty: not known
  std::string folder;    // where run.json is
  std::string json;      // run.json as it is on disk (or repaired, see below)

  const std::string& shown_id() const { return short_id.empty() ? run.id : short_id; }  // for people
};

// $TACHO_STORE, else $XDG_STATE_HOME/tacho/runs, else ~/.local/state/tacho/runs, else /var/tmp/tacho-<uid>/runs.
std::string default_store_dir();

// The last of these is below a folder that everybody may write to: somebody else may have made it before us. denied: it
// is not ours, or others may write to it. Any other place is the user's own word, and is not judged here.
Status check_run_store(const std::string& store_dir);

// Names of the folders that hold a run, the greatest first: none where there is no store, an error where it cannot be
// read.
Result<std::vector<std::string>> run_names(const std::string& store_dir);
// What people see of this id, in a store with these others. An empty store_dir: there is no store.
std::string short_id_in(const std::string& store_dir, const std::string& id);
// One run by its folder. A run whose tacho died (state running, no such process) is shown as interrupted, its
// statistics folded again from metrics.csv.
Result<StoredRun> read_run(const std::string& folder);
// The same with the statistics that run.json has, and without a short id: for lists.
Result<StoredRun> read_stored(const std::string& folder);
// A run of a list whose tacho died, as read_run() has it: its run.json lacks the last rows.
void read_last_rows(StoredRun& stored);
// The newest run of the same job that started before this one: of its job name, or of its command where it has none.
Result<StoredRun> run_before(const std::string& store_dir, const StoredRun& stored);
// One run as a person names it: an id or any part of 4 characters or more, "last", "last~N" (N before it), "last:NAME"
// (the newest of that job name), a job name (likewise), or a path of a run folder or its run.json. Where several fit,
// the error lists them (Code::invalid); where none does, it names the nearest id (Code::gone).
Result<StoredRun> find_run(const std::string& store_dir, const std::string& name);

}  // namespace tacho
