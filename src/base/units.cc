#include "base/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/text.h"

namespace tacho {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr std::array<Unit, 8> kUnits{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"sec", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}}};

Error bad_duration(std::string_view text) {
  return {Code::invalid, "not a duration", std::string(text), "write for instance 250ms, 1s, 0.5 or 5m"};
}

// From here on nobody reads digits; a damaged file may hold anything.
constexpr double kHuge = 1e15;

template <class... Args>
std::string format(const char* pattern, Args... args) {
  std::array<char, 64> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), pattern, args...);
  return {buffer.data(), std::min(static_cast<size_t>(std::max(length, 0)), buffer.size() - 1)};
}

}  // namespace

int64_t as_ns(double seconds) { return std::llround(seconds * 1e9); }

Result<int64_t> parse_duration_ns(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.empty()) return bad_duration(text);
  double total_ns = 0;
  while (!rest.empty()) {
    const size_t digits = rest.find_first_not_of("0123456789.");
    const auto number = parse_double(rest.substr(0, digits));
    if (!number) return bad_duration(text);
    rest = digits == std::string_view::npos ? std::string_view{} : rest.substr(digits);
    const size_t letters = std::min(rest.find_first_of("0123456789. "), rest.size());
    if (rest.empty() && total_ns > 0) return bad_duration(text);  // "1s1", "5m30": thirty of what?
    const std::string_view name = rest.empty() ? "s" : rest.substr(0, letters);
    rest.remove_prefix(std::min(letters, rest.size()));
    double unit_ns = 0;
    for (const Unit& unit : kUnits)
      if (unit.name == name) unit_ns = unit.ns;
    if (unit_ns == 0) return bad_duration(text);
    total_ns += *number * unit_ns;
  }
  if (!(total_ns >= 1) || total_ns > 9e18) return bad_duration(text);
  return static_cast<int64_t>(std::llround(total_ns));
}

namespace {

// "3.0" as a person writes it: "3".
std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// "12m04s" of 12 and 4, "5m" of 5 and 0.
std::string two_parts(int64_t large, const char* large_name, int64_t small, const char* small_name) {
  const std::string text = std::to_string(large) + large_name;
  return small == 0 ? text : text + format("%02lld", static_cast<long long>(small)) + small_name;
}

}  // namespace

std::string human_duration(int64_t ns) {
  if (ns < 0) return "-" + human_duration(ns == std::numeric_limits<int64_t>::min() ? kNever : -ns);
  const double ms = static_cast<double>(ns) / 1e6, seconds = ms / 1e3;
  if (ns == 0) return "0s";
  if (ms < 0.05) return "<0.1ms";
  if (ms < 999.5) return without_zeros(format(ms < 9.95 ? "%.1f" : "%.0f", ms)) + "ms";
  if (seconds < 9.95) return without_zeros(format("%.1f", seconds)) + "s";
  // To the nearest of the smallest part that is shown.
  const int64_t whole = std::llround(seconds), minutes = (whole + 30) / 60, hours = (whole + 1800) / 3600;
  if (whole < 60) return std::to_string(whole) + "s";
  if (whole < 3600) return two_parts(whole / 60, "m", whole % 60, "s");
  if (minutes < 24 * 60) return two_parts(minutes / 60, "h", minutes % 60, "m");
  return two_parts(hours / 24, "d", hours % 24, "h");
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 6> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  // What would be written as 1024 of a unit is one of the next.
  while (std::fabs(bytes) >= 1023.5 && unit + 1 < kNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (std::fabs(bytes) >= kHuge) return format("%.2g %s", bytes, kNames[unit]);
  return without_zeros(format(unit == 0 || std::fabs(bytes) >= 99.95 ? "%.0f" : "%.1f", bytes)) + " " + kNames[unit];
}

std::string human_number(double value) {
  const double size = std::fabs(value);
  if (size >= kHuge) return format("%.2g", value);
  if (size > 0 && size < 0.005) return value > 0 ? "<0.01" : ">-0.01";
  return without_zeros(format(size >= 99.95 ? "%.0f" : size >= 0.995 ? "%.1f" : "%.2f", value));
}

}  // namespace tacho
