// One self-contained HTML file of one run, or of several over each other. Nothing is loaded from anywhere. Streams: a
// file of ten million rows needs no more memory than one of a thousand. Thread-safe (no state).
#pragma once
#include <span>
#include <string>

#include "base/result.h"
#include "report/page/html_page.h"

namespace tacho {

// An input is whatever read_input() takes. `output` may be "-".
Status write_html_report(std::span<const std::string> inputs, const std::string& store_dir, const std::string& output,
                         const PageOptions& options = {});

// The page of a run that just ended, from its folder in the store, with all that is there.
Result<std::string> html_of_folder(const std::string& folder);

}  // namespace tacho
