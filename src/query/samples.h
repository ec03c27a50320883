// The virtual table `samples`: every row of every run's metrics.csv. With `run = …` or `run IN (…)` only the files of
// these runs are opened.
#pragma once
#include <string>

#include "query/database.h"

namespace tacho {

// The store's path must outlive the database.
Status add_samples(const Database& database, const std::string& store_dir);

}  // namespace tacho
