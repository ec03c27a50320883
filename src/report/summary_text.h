// The exit summary as a person reads it. Pure functions.
#pragma once
#include <string>

#include "model/run.h"
#include "model/summary.h"

namespace tacho {

// tacho: ok 12m04s · cpu 3.1 of 8 cores · memory peak 9.8 of 32 GiB · gpu 71% · run 20261115-a1b2
std::string summary_line(const Run& run, const Summary& summary, bool color);
// Several lines: outcome, time, cpu, memory, disk, network, gpu, container, methods, notes, where the files are.
std::string summary_full(const Run& run, const Summary& summary, bool color);

}  // namespace tacho
