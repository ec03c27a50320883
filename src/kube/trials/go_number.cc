#include "kube/trials/go_number.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/text.h"

namespace tacho {
namespace {

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// An underscore stands between two digits, or between the base prefix and a digit.
bool underscores_fit(std::string_view text, bool hex) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '_') continue;
    const char before = at == 0 ? '.' : text[at - 1], after = at + 1 < text.size() ? text[at + 1] : '.';
    const bool prefix = hex && at == 2 && (before == 'x' || before == 'X');
    const auto counts = [&](char c) { return hex ? is_hex(c) : is_digit(c); };
    if ((!counts(before) && !prefix) || !counts(after)) return false;
  }
  return true;
}

}  // namespace

std::optional<double> parse_go_float(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string word = lower(rest);
  if (word == "inf" || word == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (word == "nan" && rest.size() == text.size()) return std::numeric_limits<double>::quiet_NaN();

  const bool hex = rest.starts_with("0x") || rest.starts_with("0X");
  if (!underscores_fit(rest, hex)) return std::nullopt;
  std::string plain = negative ? "-" : "";
  size_t at = hex ? 2 : 0;
  if (hex) plain += "0x";
  bool digits = false, point = false;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (c == '_') continue;
    if (c == '.' && !point) point = true;
    else if (hex ? is_hex(c) : is_digit(c)) digits = true;
    else break;
    plain += c;
  }
  if (!digits) return std::nullopt;
  const char exponent = hex ? 'p' : 'e';
  if (at < rest.size()) {
    if ((rest[at] | 0x20) != exponent) return std::nullopt;
    plain += rest[at++];
    if (at < rest.size() && (rest[at] == '+' || rest[at] == '-')) plain += rest[at++];
    if (at >= rest.size() || !is_digit(rest[at])) return std::nullopt;
    for (; at < rest.size(); ++at) {
      if (rest[at] == '_') continue;
      if (!is_digit(rest[at])) return std::nullopt;
      plain += rest[at];
    }
  } else if (hex) {
    return std::nullopt;  // Go wants the binary exponent
  }
  // No locale is ever set, so that the point is a point.
  const double value = std::strtod(plain.c_str(), nullptr);
  if (std::isinf(value)) return std::nullopt;
  return value;
}

}  // namespace tacho
