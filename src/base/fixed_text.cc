#include "base/fixed_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tacho {
namespace {

constexpr std::array<double, 7> kPowers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Scaled to a whole number, as nearly every cell can be: several times cheaper than the general conversion.
bool can_be_scaled(double value, int decimals) {
  return decimals >= 0 && decimals < static_cast<int>(kPowers.size()) && std::fabs(value) < 1e9;
}

char* write_general(char* at, double value, int decimals) {
  const auto [end, error] = std::to_chars(at, at + kLongestFixed, value, std::chars_format::fixed, decimals);
  return error == std::errc{} ? end : at;
}

char* append(char* at, const char* text, size_t bytes) {
  std::memcpy(at, text, bytes);
  return at + bytes;
}

// 12345 with 3 decimals is 12.345.
char* write_scaled(char* at, int64_t value, int decimals) {
  const auto places = static_cast<size_t>(decimals);
  if (value == 0) return append(at, "0.000000", places > 0 ? places + 2 : 1);  // as most cells of most rows
  std::array<char, 32> digits;
  size_t first = digits.size();
  uint64_t rest = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  for (; rest >= 10; rest /= 100) {
    first -= 2;
    std::memcpy(&digits[first], &kPairs[rest % 100 * 2], 2);
  }
  if (rest > 0) digits[--first] = static_cast<char>('0' + rest);
  while (digits.size() - first <= places) digits[--first] = '0';
  if (value < 0) *at++ = '-';
  at = append(at, &digits[first], digits.size() - first - places);
  if (places == 0) return at;
  *at++ = '.';
  return append(at, digits.data() + digits.size() - places, places);
}

}  // namespace

char* write_fixed(char* at, double value, int decimals) {
  if (!std::isfinite(value)) return at;
  if (!can_be_scaled(value, decimals)) return write_general(at, value, decimals);
  return write_scaled(at, std::llround(value * kPowers[static_cast<size_t>(decimals)]), decimals);
}

}  // namespace tacho
