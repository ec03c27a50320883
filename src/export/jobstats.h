// The summary that jobstats' tools read from a job's AdminComment: "JS1:" and base64 of gzipped JSON. Thread-safe.
#pragma once
#include <span>
#include <string>

#include "export/figures.h"
#include "export/job_gpus.h"
#include "report/store/store.h"

namespace tacho {

// The runs of one job, a node each; runs of one node are added up. "JS1:Short" below a second, "JS1:None" without rows.
// One line, without a line end. `node_gpus`: of each run, where they are known.
std::string jobstats_text(std::span<const JobFigures> runs, int64_t rows, std::span<const JobGpus> node_gpus = {});
// Of stored runs: those of a node are one there, however many tasks and steps they were.
std::string jobstats_of(std::span<const StoredRun> runs);

}  // namespace tacho
