// Style and script of the HTML report: everything that a page needs is inside of it. Constant data.
#pragma once
#include <string_view>

namespace tacho {

extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;

}  // namespace tacho
