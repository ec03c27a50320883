// Style and script of the page: web/ as it was at build time (cmake/web.cmake), comments left out. Constant data.
#pragma once
#include <string_view>

namespace tacho {

extern const std::string_view kPageStyle, kPageScript;

}  // namespace tacho
