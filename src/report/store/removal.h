// Removing a run from the store, and nothing else: only a folder of ours, only the files that a run makes, never
// through a link. What somebody else put there stays, and so does its folder. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/store/store.h"

namespace tacho {

// Whether a run makes a file of that name, also when it is killed on the way.
bool is_run_file(std::string_view name);

// Why the run stays: it goes on, or its folder is not one that this tacho may remove. Empty: it may go.
std::string reason_to_keep(const std::string& store_dir, const StoredRun& stored);

struct Removed {
  int64_t bytes = 0;
  std::vector<std::string> left;  // names that a run does not make, and what could not be removed: the folder stays
};
// How much it would be, or what was done. An error when nothing was touched.
Result<Removed> weigh_run(const std::string& store_dir, const StoredRun& stored);
Result<Removed> remove_run(const std::string& store_dir, const StoredRun& stored);

}  // namespace tacho
