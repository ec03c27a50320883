// The runs of a store as their folders show them: what changed since they were read last is told by size and time of
// run.json alone. Thread-safe (no state).
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "report/store/store_reader.h"

namespace tacho {

struct ListedRun {
  std::string name;
  RunStamp stamp = {};
};

// By name. None where there is no store, an error where it cannot be read. Without `stamped` nobody looks into the
// folders: some may be no runs.
Result<std::vector<ListedRun>> list_run_files(const std::string& store_dir, bool stamped = true);

// Whether the name may be a run's: a single one, not hidden.
bool is_run_name(std::string_view name);

}  // namespace tacho
