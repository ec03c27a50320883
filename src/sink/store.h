// The run store as a sink: <dir>/<id>/metrics.csv, appended row by row so that a kill loses at most one tick, and
// run.json. That is replaced atomically at begin and end; in between, all that changes lies in one page which is
// overwritten in place with the rows, twice a second at the most. A full disk is reported once and tried again at the
// next row; a torn line is cut off.
#pragma once
#include <memory>
#include <string>

#include "model/summary.h"
#include "sink/sink.h"

namespace tacho {

// Makes <dir>/<id> with a fresh run.id (YYYYMMDD- and 12 random digits) and returns the sink. run and summary are read
// again whenever run.json is written, so they must live longer than the sink.
Result<std::unique_ptr<Sink>> open_store(const std::string& store_dir, Run& run, const Summary& summary);
// A run id for a run without a store.
std::string make_run_id(int64_t realtime_ns);

}  // namespace tacho
