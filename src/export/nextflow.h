// Nextflow's own files: the trace of a task (`.command.trace`, version 2) and a line of the trace file of a workflow.
// Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "export/figures.h"

namespace tacho {

// `before` is what the file holds already: lines of a trace for keys that tacho did not measure stay where they are.
std::string nextflow_trace(const JobFigures& job, std::string_view before = {});

std::string nextflow_tsv_header();
std::string nextflow_tsv_line(const JobFigures& job, int64_t task_number);

}  // namespace tacho
