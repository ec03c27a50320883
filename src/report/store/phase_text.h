// The phases of a run as a table for people. Pure.
#pragma once
#include <string>

#include "model/run.h"

namespace tacho {

// Lines with an end each; empty when the run has none. Names are cut so that a line has at most `width` columns (0:
// endless).
std::string phase_table(const Run& run, size_t width);

}  // namespace tacho
