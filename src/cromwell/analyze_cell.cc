#include "cromwell/analyze_cell.h"

#include <cmath>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"

namespace tacho {

using Token = JsonReader::Token;

std::optional<int64_t> TableCell::integer() const {
  if (kind != Token::string && kind != Token::number) return std::nullopt;
  if (const auto whole = parse_int<int64_t>(text)) return whole;
  // 3.0 and 1e3 are whole numbers too; beyond 2^53 a double no longer tells which.
  const auto value = number();
  if (!value || std::abs(*value) > 9'007'199'254'740'992.0 || *value != std::floor(*value)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<double> TableCell::number() const {
  if (kind != Token::string && kind != Token::number) return std::nullopt;
  const auto value = parse_double(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<bool> TableCell::flag() const {
  if (kind == Token::yes) return true;
  if (kind == Token::no) return false;
  if (kind != Token::string || text.empty()) return std::nullopt;
  return parse_bool(text);
}

std::optional<int64_t> TableCell::time_us() const {
  if (kind != Token::string && kind != Token::number) return std::nullopt;
  std::string_view date = text;
  if (date.ends_with(" UTC")) date.remove_suffix(4);
  if (const auto time_ns = parse_iso_date_ns(date)) return *time_ns / kNsPerUs;
  const auto seconds = parse_double(text);
  if (!seconds || *seconds < static_cast<double>(kFirstUtcSecond) || *seconds > static_cast<double>(kLastUtcSecond))
    return std::nullopt;
  return std::llround(*seconds * 1e6);
}

}  // namespace tacho
