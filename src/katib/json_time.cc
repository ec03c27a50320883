#include "katib/json_time.h"

#include <array>
#include <charconv>

#include "base/text.h"
#include "katib/time_stamp.h"

namespace tacho {

std::optional<std::string> json_time_by_digits(std::string_view number) {
  const auto value = parse_double(number);
  if (!value) return std::nullopt;
  std::array<char, 1100> digits;  // the smallest double has 1074 places
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), *value, std::chars_format::fixed);
  if (done.ec != std::errc{}) return std::nullopt;
  const std::string_view text(digits.data(), static_cast<size_t>(done.ptr - digits.data()));
  const size_t point = text.find('.');
  const auto seconds = parse_int<int64_t>(text.substr(0, point));
  const auto nanoseconds = point == std::string_view::npos ? std::optional<int64_t>(0) : parse_int<int64_t>(text.substr(point + 1));
  if (!seconds || !nanoseconds) return std::nullopt;
  return utc_shortest(*seconds, *nanoseconds);
}

std::optional<std::string> json_time_exact(std::string_view number) {
  const bool negative = number.starts_with('-');
  if (negative) number.remove_prefix(1);
  int64_t exponent = 0;
  if (const size_t e = number.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view text = number.substr(e + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto parsed = parse_int<int32_t>(text);
    if (!parsed) return std::nullopt;
    exponent = *parsed;
    number = number.substr(0, e);
  }
  std::string digits;
  const size_t point = number.find('.');
  digits += number.substr(0, point);
  int64_t whole = static_cast<int64_t>(digits.size()) + exponent;  // digits before the point
  if (point != std::string_view::npos) digits += number.substr(point + 1);
  int64_t seconds = 0, nanoseconds = 0;
  constexpr int64_t kMostSeconds = 1'000'000'000'000;  // beyond the year 9999
  for (int64_t i = 0; i < static_cast<int64_t>(digits.size()) || i < whole; ++i) {
    const int64_t digit = i < static_cast<int64_t>(digits.size()) ? digits[static_cast<size_t>(i)] - '0' : 0;
    if (i < whole) seconds = seconds * 10 + digit;
    else if (i < whole + 9) nanoseconds = nanoseconds * 10 + digit;
    if (seconds > kMostSeconds) return std::nullopt;
    if (i >= whole + 8 || (seconds == 0 && i > 4096)) break;
  }
  // Places that were not written.
  const int64_t written = static_cast<int64_t>(digits.size()) - whole;
  for (int64_t place = std::max<int64_t>(written, 0); place < 9 && nanoseconds != 0; ++place) nanoseconds *= 10;
  return negative ? utc_shortest(-seconds, -nanoseconds) : utc_shortest(seconds, nanoseconds);
}

}  // namespace tacho
