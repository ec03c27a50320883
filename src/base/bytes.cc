#include "base/bytes.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace tacho {

std::optional<int64_t> parse_bytes(std::string_view text) {
  text = trim(text);
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_double(text.substr(0, digits));
  std::string unit = lower(trim(text.substr(digits)));
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.ends_with('i') && unit.size() == 2) unit.pop_back();
  constexpr std::string_view kLetters = "kmgt";
  const size_t power = unit.empty() ? 0 : kLetters.find(unit) + 1;  // npos + 1 is 0 too
  if (!number || unit.size() > 1 || (power == 0 && !unit.empty())) return std::nullopt;
  const double bytes = *number * static_cast<double>(int64_t{1} << (10 * power));
  if (!(bytes >= 1) || bytes > 9e18) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace tacho
