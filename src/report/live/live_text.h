// Texts of the live view, made so that every terminal draws them alike. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// A name from outside for a cell of a table: no control bytes, no marks of direction, no characters without a width of
// their own, no invalid UTF-8.
std::string cell_text(std::string_view text);

// For a terminal that does not know UTF-8: our own signs by their like, all others by "?".
std::string ascii_signs(std::string_view text);

}  // namespace tacho
