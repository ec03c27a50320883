// <run folder>/marks.csv: made by tacho with its header, appended to by the job. Each line is one write, so that many
// processes may append at once. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/store/marks.h"

namespace tacho {

// A new file with the header.
Status make_marks_file(const std::string& folder);

// Appends a line. The folder must be a run folder of ours: what somebody else made, or a link, is left alone.
Status append_mark(const std::string& folder, MarkEvent event, std::string_view name, int64_t realtime_ns);

}  // namespace tacho
