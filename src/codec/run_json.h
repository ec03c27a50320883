// run.json: identity, metadata, command, host, limits, outcome, method, notes, totals and statistics of every column.
#pragma once
#include "base/writer.h"
#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// Leaves out what run.hidden names. Does not allocate once the writer has its size.
void write_run_json(Writer& out, const Run& run, const Summary& summary);

}  // namespace tacho
