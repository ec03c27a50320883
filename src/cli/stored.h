// What runs and show say about a stored run. Pure functions.
#pragma once
#include <string>

#include "report/store.h"

namespace tacho {

// Of the job, or of the machine when no process was followed; kAbsent when unknown.
double mean_cores(const StoredRun& stored);
double memory_peak_bytes(const StoredRun& stored);
std::string state_word(const Outcome& outcome);  // "ok", "failed 3", "signal 9", "timeout", "running", "interrupted"
std::string what_ran(const Run& run);            // the command on one line, or "pid 42", "machine"

}  // namespace tacho
