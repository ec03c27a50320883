// Snakemake's benchmark files: a line a run, as TSV with its header or as JSON lines. Pure; thread-safe.
#pragma once
#include <string>

#include "export/figures.h"

namespace tacho {

std::string snakemake_header();
std::string snakemake_line(const JobFigures& job);
std::string snakemake_json_line(const JobFigures& job);

}  // namespace tacho
