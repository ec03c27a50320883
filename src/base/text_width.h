// Text in columns of a terminal: how wide a character is, and cutting and padding by that. Pure; thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tacho {

// 0 for what is drawn onto its neighbour (combining marks, joiners, marks of direction), 2 for East Asian wide
// characters and emoji, else 1.
size_t character_width(uint32_t code);
// The character at the start of a text that is not empty, and its length; a byte that begins none stands for itself.
std::pair<uint32_t, size_t> first_character(std::string_view text);

// Columns that a terminal gives to a text.
size_t text_width(std::string_view text);
// At most `columns` wide; where something is left out the sign is at the end, when there is room for more than that.
std::string cut_to(std::string_view text, size_t columns, std::string_view sign = "…");
// Exactly `columns` wide.
std::string fit_left(std::string_view text, size_t columns);
std::string fit_right(std::string_view text, size_t columns);

}  // namespace tacho
