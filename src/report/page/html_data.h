// One run as JSON for the page's script. Pure.
#pragma once
#include <string>

#include "report/page/html_page.h"

namespace tacho {

// At most `bytes`, by fewer points and fewer processes where it must be; safe inside of <script>.
std::string page_data(ReportRun& report, const RunFacts& facts, size_t bytes);

}  // namespace tacho
