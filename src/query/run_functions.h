// What SQL asks of a run's own files: its run.json as `tacho runs --json` prints it, and its verdict. Only runs of the
// store are read, by their names.
#pragma once
#include <string>

#include "query/database.h"

namespace tacho {

struct RunFunctions {
  std::string store_dir;
  // While rows are stored, SQLite asks for every column of each, also for those that it does not store.
  bool answer = false;
};

// They must outlive the database.
void add_run_functions(const Database& database, const RunFunctions& functions);

}  // namespace tacho
