// Style of the page of tacho cromwell analyze: web/page.css and web/analyze.css as they were at build time
// (cmake/web.cmake). Constant data.
#pragma once
#include <string_view>

namespace tacho {

extern const std::string_view kAnalyzeStyle;

}  // namespace tacho
