#include "net/http/iso_date.h"

#include <chrono>

#include "base/text.h"

namespace tacho {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Exactly `digits` of them, which are then gone from text; −1 otherwise.
int take(std::string_view& text, size_t digits) {
  int value = 0;
  if (text.size() < digits) return -1;
  for (size_t at = 0; at < digits; ++at) {
    if (!is_digit(text[at])) return -1;
    value = value * 10 + (text[at] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Behind a dot: any number of digits, nine of which count.
bool take_fraction(std::string_view& text, int64_t& ns) {
  size_t count = 0;
  for (; count < text.size() && is_digit(text[count]); ++count) {
    if (count < 9) ns = ns * 10 + (text[count] - '0');
  }
  for (size_t at = count; at < 9; ++at) ns *= 10;
  text.remove_prefix(count);
  return count > 0;
}

// Z, +01:00, +0100, +01 or nothing.
std::optional<int64_t> zone_s(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return 0;
  const int sign = text.front() == '-' ? -1 : 1;
  if (!take(text, "+-")) return std::nullopt;
  const int hours = take(text, 2);
  take(text, ":");
  const int minutes = text.empty() ? 0 : take(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !text.empty()) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

std::optional<int64_t> parse_iso_date_ns(std::string_view text) {
  text = trim(text);
  const int year = take(text, 4);
  if (year < 1970 || year > 2261 || !take(text, "-")) return std::nullopt;  // int64 ns end in 2262
  const int month = take(text, 2);
  if (!take(text, "-")) return std::nullopt;
  const int day = take(text, 2);
  if (month < 0 || day < 0 || !take(text, "Tt ")) return std::nullopt;
  const int hour = take(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ":")) return std::nullopt;
  const int minute = take(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ":")) return std::nullopt;
  const int second = take(text, 2);
  if (second < 0 || second > 60) return std::nullopt;
  int64_t fraction_ns = 0;
  if (take(text, ".,") && !take_fraction(text, fraction_ns)) return std::nullopt;
  const std::optional<int64_t> zone = zone_s(text);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!zone || !date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86400 + hour * 3600 + minute * 60 + second - *zone) * 1'000'000'000 + fraction_ns;
}

}  // namespace tacho
