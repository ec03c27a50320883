// Which runs still have rows in a spool of this user: those stay in the store until they are delivered.
// Thread-safe (no state).
#pragma once
#include <set>
#include <string>

namespace tacho {

// Ids of runs and their folders in the store, by the descriptions in every spool.
std::set<std::string> undelivered_runs();

}  // namespace tacho
