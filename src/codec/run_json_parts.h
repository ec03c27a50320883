// What run.json and its live form have in common.
#pragma once
#include "base/writer.h"
#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// Members of an open object: what is known at the start and hardly ever changes, and what every row changes.
// `padded`: what `json` writes to; then every state takes the same room, so that it can be overwritten in place.
void write_run_identity(JsonWriter& json, const Run& run, const Summary& summary, Writer* padded = nullptr);
void write_run_measured(JsonWriter& json, const Run& run, const Summary& summary);
// A mean has two decimals or more, the extremes as many as their rows: rounded, they may not lie on its wrong side.
double mean_between(const Statistics& statistics, int decimals);

}  // namespace tacho
