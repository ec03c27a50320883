// Ctrl-C: the first one ends the query as soon as SQLite looks up, the second one ends the program.
#pragma once
#include <sqlite3.h>

namespace tacho {

inline constexpr int kInterruptedStatus = 130;

void catch_interrupts();
void interrupt_also(sqlite3* database);  // null: none any longer
bool is_interrupted();

}  // namespace tacho
