// Numbers in hexadecimal, as kernel files and tacho's own records have them. Pure, thread-safe, without allocation.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace tacho {

// The whole of text as digits; a sign, blanks and 0x are refused.
template <class Unsigned>
std::optional<Unsigned> parse_hex(std::string_view text) {
  Unsigned value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace tacho
