// run.json: identity, metadata, command, host, limits, outcome, method, notes, totals and statistics of every column.
#pragma once
#include "base/writer.h"
#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// Leaves out what run.hidden names. Does not allocate once the writer has its size.
void write_run_json(Writer& out, const Run& run, const Summary& summary);

// The same while the run goes on, with all that changes in one page of its own, so that the page can be overwritten in
// place at every row: one write within a page is done whole or not at all, also when tacho is killed in it. Returns
// where the page begins.
inline constexpr size_t kLivePageBytes = 4096;
size_t write_live_run_json(Writer& out, const Run& run, const Summary& summary);
// The page alone; longer than kLivePageBytes when it does not fit.
void write_live_page(Writer& out, const Run& run, const Summary& summary);

// Two members of an open object: phases and marks_dropped.
void write_phases(JsonWriter& json, const Run& run);

}  // namespace tacho
