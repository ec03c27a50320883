// A row: the derived cells of one tick in the order of the run's columns. The column set is decided at start and never
// changes within a run.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/column.h"

namespace tacho {

// timestamp (column 1) is part of the schema, as cell 0.
using Schema = std::vector<Column>;
// The place of a column by its name; 0, that of the timestamp, where there is none.
size_t place_of(const Schema& schema, std::string_view column);

struct Row {
  int64_t index = 0;          // 0 for the first row
  int64_t realtime_ns = 0;    // end of the interval; a clock that was set back is followed one row later
  int64_t interval_ns = 0;    // monotonic time that the row covers
  bool closing = false;       // the last one: written when the job ended
  std::vector<double> cells;  // as many as the schema has columns; kAbsent where unknown
};

}  // namespace tacho
