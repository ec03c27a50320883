// run.json: identity, metadata, command, host, limits, outcome, method, notes, totals and statistics of every column.
#pragma once
#include "base/writer.h"
#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// Leaves out what run.hidden names. Does not allocate once the writer has its size.
void write_run_json(Writer& out, const Run& run, const Summary& summary);

// The same while the run goes on, with all that changes in pages of its own behind the rest, so that they can be
// overwritten in place at every row: one write within a page is done whole or not at all, also when tacho is killed in
// it. Which member is in which page follows from the schema alone, so that pages of two rows make one text, too.
// Returns where they begin. Of what stands before them the end of a run changes the state alone, which has room there.
inline constexpr size_t kLivePageBytes = 4096;
size_t write_live_run_json(Writer& out, const Run& run, const Summary& summary);
// The pages alone. False when one of them does not fit: then the text has to be replaced as a whole.
bool write_live_pages(Writer& out, const Run& run, const Summary& summary);

// Two members of an open object: phases and marks_dropped.
void write_phases(JsonWriter& json, const Run& run);

}  // namespace tacho
