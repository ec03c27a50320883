// What SQL may do here: read the tables, and nothing else. No write, no other file, no setting, no extension, and no
// more than its share of memory. Thread-safe (no state).
#pragma once
#include <cstdint>

#include "query/database.h"

namespace tacho {

// For the whole process, before the first database is opened.
void bound_memory();
// From now on every statement is judged; `parts` gets the bits of the tables that are read.
void guard(const Database& database, uint32_t* parts);

}  // namespace tacho
