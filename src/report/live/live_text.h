// Text in columns of a terminal: how wide a character is, and cutting and padding by that. What came from outside is
// made harmless first. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

namespace tacho {

// Columns that a terminal gives to valid UTF-8 text: 0 for combining marks, 2 for East Asian wide characters and emoji.
size_t columns_of(std::string_view text);

// At most `columns` wide, with an ellipsis where something is left out.
std::string cut_to(std::string_view text, size_t columns);
// Exactly `columns` wide.
std::string fit_left(std::string_view text, size_t columns);
std::string fit_right(std::string_view text, size_t columns);

// A name from outside for a cell of a table: no control bytes, no marks of direction, no characters without a width of
// their own, no invalid UTF-8.
std::string cell_text(std::string_view text);

// For a terminal that does not know UTF-8: our own signs by their like, all others by "?".
std::string ascii_signs(std::string_view text);

}  // namespace tacho
