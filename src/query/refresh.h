// Brings the tables of a database up to date with a run store: runs that are new or changed are read, those that are
// gone are removed, and only the tables that are asked for are filled.
#pragma once
#include <cstdint>
#include <string>

#include "query/database.h"

namespace tacho {

enum class Refreshed {
  done,
  interrupted,  // Ctrl-C
  damaged,      // the database is to be made anew
  refused,      // it cannot be written now: locked for long, read-only, full
};

Status make_tables(const Database& database, const std::string& store_dir);
// Whether it has these tables, filled from that store, by this version.
bool has_tables(const Database& database, const std::string& store_dir);

// is_new: nothing is in it yet, which saves looking for what is to be replaced. An error when the store cannot be read.
Result<Refreshed> refresh(const Database& database, const std::string& store_dir, uint32_t parts, bool is_new);

}  // namespace tacho
