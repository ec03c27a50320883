// Numbers in hexadecimal, as kernel files and tacho's own records have them. Pure, thread-safe, without allocation.
#pragma once
#include <limits>
#include <optional>
#include <string_view>

namespace tacho {

// The whole of text as digits; a sign, blanks and 0x are refused. A plain loop: from_chars takes twice as long for
// the eight numbers of /proc/PID/task/TID/syscall.
template <class Unsigned>
std::optional<Unsigned> parse_hex(std::string_view text) {
  constexpr int kShiftOfTop = std::numeric_limits<Unsigned>::digits - 4;
  Unsigned value = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0 || value >> kShiftOfTop != 0) return std::nullopt;
    value = static_cast<Unsigned>(value << 4 | static_cast<Unsigned>(digit));
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

}  // namespace tacho
