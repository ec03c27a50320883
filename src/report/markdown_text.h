// Text of a job's own making stays text in Markdown: in a cell of a table, a heading and a comment. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// On one line, whatever it holds.
std::string markdown_text(std::string_view text);

}  // namespace tacho
