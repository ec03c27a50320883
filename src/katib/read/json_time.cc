#include "katib/read/json_time.h"

#include <array>
#include <charconv>

#include "base/text.h"
#include "katib/read/utc_time.h"

namespace tacho {

std::optional<TimeStamp> json_time_by_digits(std::string_view number) {
  const auto value = parse_double(number);
  if (!value) return std::nullopt;
  std::array<char, 1100> digits;  // the smallest double has 1074 places
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), *value, std::chars_format::fixed);
  if (done.ec != std::errc{}) return std::nullopt;
  const std::string_view text(digits.data(), static_cast<size_t>(done.ptr - digits.data()));
  const size_t point = text.find('.');
  const auto seconds = parse_int<int64_t>(text.substr(0, point));
  const auto nanoseconds =
      point == std::string_view::npos ? std::optional<int64_t>(0) : parse_int<int64_t>(text.substr(point + 1));
  if (!seconds || !nanoseconds) return std::nullopt;
  return utc_shortest(*seconds, *nanoseconds);
}

std::optional<TimeStamp> json_time_exact(std::string_view number) {
  const auto time = decimal_seconds(number);
  return time ? utc_shortest(time->first, time->second) : std::nullopt;
}

}  // namespace tacho
