// CSV of tracker.md §1: comma-separated, unquoted, LF; an unknown value is an empty field, never 0. Pure, thread-safe,
// no allocation once the writer has its size.
#pragma once
#include "base/writer.h"
#include "model/row.h"

namespace tacho {

void write_csv_header(Writer& out, const Schema& schema);

// Cell 0 is written from row.realtime_ns by integer arithmetic, as UNIX seconds with 3 decimals; `whole_seconds` as the
// compatible client has it. Milliseconds are cut, so rows must be at least 1 ms apart to be strictly increasing.
void write_csv_row(Writer& out, const Schema& schema, const Row& row, bool whole_seconds = false);

// UNIX seconds with 3 decimals.
void put_unix_seconds(Writer& out, int64_t realtime_ns);

}  // namespace tacho
