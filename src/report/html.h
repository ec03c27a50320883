// One self-contained HTML file: header with the outcome, tiles, charts, statistics and notes of each run below each
// other. Nothing is loaded from anywhere. Thread-safe (no state).
#pragma once
#include <span>
#include <string>

#include "base/result.h"

namespace tacho {

// An input is a run id (or prefix, or "last"), a run folder, or a metrics CSV or CSV.gz file. `output` may be "-".
Status write_html_report(std::span<const std::string> inputs, const std::string& store_dir, const std::string& output);

}  // namespace tacho
