// Small string helpers without locale and without allocation where a tick needs them.
#pragma once
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// What stands before the first separator, which is taken off `text` with it; all of it when there is none.
std::string_view take_part(std::string_view& text, char separator);
std::string lower(std::string_view text);
// "text" or 'text' without its quotes; what has none as it is.
std::string_view unquoted(std::string_view text);

// The whole of text as a decimal number; nothing else is accepted.
template <class Int>
std::optional<Int> parse_int(std::string_view text) {
  Int value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}
std::optional<double> parse_double(std::string_view text);
// 1/0, true/false, yes/no, on/off in any case; empty is false.
std::optional<bool> parse_bool(std::string_view text);

// Edit distance (two neighbours swapped are one edit), and the candidate a person probably meant; empty when none is
// near.
size_t edit_distance(std::string_view a, std::string_view b);
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// Length of the valid UTF-8 sequence at the start of text, 0 when there is none.
size_t utf8_length(std::string_view text);
// Of UTF-8: not the first byte of a character.
constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
// The start of UTF-8, at most so many bytes and no piece of a character.
std::string_view start_of(std::string_view text, size_t bytes);
size_t count_characters(std::string_view utf8);
// Replaces bytes that are not valid UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);
// What came from elsewhere may hold anything; a terminal must not act on it: control characters, further line ends and
// changes of direction become blanks.
std::string harmless_text(std::string_view text);
// As a person writes it for a shell, in quotes where it needs them.
std::string shell_word(std::string_view word);
// For a terminal that knows ASCII alone: tacho's own signs become words or signs of ASCII, all else '?'.
std::string ascii_text(std::string_view text);

}  // namespace tacho
