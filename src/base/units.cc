#include "base/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

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

std::string human_duration(int64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  if (seconds < 9.95) return format("%.1fs", seconds);
  const int64_t whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return format("%llds", static_cast<long long>(whole));
  const long long minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (hours == 0) return format("%lldm%02llds", minutes, static_cast<long long>(whole % 60));
  if (days == 0) return format("%lldh%02lldm", hours, minutes % 60);
  return format("%lldd%02lldh", days, hours % 24);
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 6> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= 1024 && unit + 1 < kNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (std::fabs(bytes) >= kHuge) return format("%.2g %s", bytes, kNames[unit]);
  return format(unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, kNames[unit]);
}

std::string human_number(double value) {
  const double size = std::fabs(value);
  if (size >= kHuge) return format("%.2g", value);
  return format(size == 0 || size >= 99.5 ? "%.0f" : size >= 0.1 ? "%.1f" : "%.2f", value);
}

}  // namespace tacho
