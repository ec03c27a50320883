// The exit summary as a person reads it. Pure functions.
#pragma once
#include <string>
#include <string_view>

#include "model/run.h"
#include "model/summary.h"
#include "report/store/store.h"

namespace tacho {

// tacho: ok 12m04s · cpu 3.1 of 8 cores · memory peak 9.8 of 32 GiB · gpu 71% · run 20261115-a1b2
// Without a newline. What is unknown is left out; a limit is shown where it is lower than the machine. `limited`:
// summary_words() of its verdict, empty when there is nothing to say.
std::string summary_line(const Run& run, const Summary& summary, bool color, std::string_view limited = {});
std::string summary_line(const StoredRun& stored, bool color);
// Several lines, the last without a newline: outcome, time, cpu, memory, disk, network, gpu, limits, methods, notes,
// where the files are.
std::string summary_full(const Run& run, const Summary& summary, bool color, std::string_view limited = {});
std::string summary_full(const StoredRun& stored, bool color, std::string_view limited = {});

// "ok", "exit 3", "killed by SIGKILL (out of memory)", "timed out", "running", "interrupted", "watched": how it ended,
// without the time.
std::string outcome_words(const Run& run);
// "python3 train.py --epochs 3", quoted where a shell would need it; at most `limit` characters, cut with "…".
std::string command_text(const Run& run, size_t limit);

}  // namespace tacho
