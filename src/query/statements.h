// The SQL that a person wrote: one statement or several. Not thread-safe.
#pragma once
#include <string>

#include "query/database.h"
#include "query/output.h"

namespace tacho {

enum class Answer { given, failed, interrupted, damaged };

// Looks at all of them without running one: what they may read is then known (guard.h). Nothing: all is well.
std::optional<Error> check_statements(const Database& database, const std::string& sql);
// Runs them; prints the rows of the last one. damaged: nothing was printed, and the tables are to be made anew.
Answer run_statements(const Database& database, const std::string& sql, RowFormat format);

}  // namespace tacho
