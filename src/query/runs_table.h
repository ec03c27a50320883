// The columns of `runs` and how each is made of a run. Constant data, thread-safe.
#pragma once
#include <span>

#include "query/cells.h"

namespace tacho {

std::span<const TableColumn> runs_columns();
void put_run(const RunRow& run, RowTaker& rows);

}  // namespace tacho
