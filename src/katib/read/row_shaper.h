// Makes rows fit for the database: their times (arrival for rows without one, equal times set apart), valid text, the
// companion rows of steps. The result for a chunk depends only on the chunk, its arrival times and the state before it,
// so that a restarted collector makes the very same rows again. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "katib/model/row_batch.h"
#include "katib/read/utc_time.h"

namespace tacho {

inline constexpr std::string_view kUnavailable = "unavailable";

// The first `rows` rows of a chunk were read at `time_us`; those of the next run follow.
struct ArrivalRun {
  int64_t rows = 0, time_us = 0;
};

// Of each metric: the time of its last row, as it came and as it was reported.
struct LastTime {
  int64_t given_us = 0, reported_us = 0;
};
using LastTimes = std::map<std::string, LastTime, std::less<>>;

struct ShapeRules {
  bool arrival = false;    // rows without a time get that of their arrival
  bool set_apart = false;  // equal times of a metric are set apart by a microsecond, ordered by step
  bool steps = false;      // NAME@step and NAME@epoch beside each row
};

// Rows that cannot be made valid are dropped, with a warning.
RowBatch shape_rows(RowBatch rows, const std::vector<ArrivalRun>& arrivals, const ShapeRules& rules, LastTimes& last);

// UTF-8 without NUL; false when name, value or time stamp cannot be stored.
bool make_valid(MetricRow& row);

int64_t now_us();

// About what the row takes on the wire.
inline size_t wire_bytes(const RowView& row) { return row.time_stamp.size() + row.name.size() + row.value.size() + 16; }

}  // namespace tacho
