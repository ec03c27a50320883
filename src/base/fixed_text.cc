#include "base/fixed_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tacho {
namespace {

constexpr std::array<double, 7> kPowers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

constexpr auto kTens = [] {
  std::array<uint64_t, 19> tens{};
  uint64_t ten = 1;
  for (uint64_t& one : tens) one = ten, ten *= 10;
  return tens;
}();

// Of numbers from 1 to below 10^18.
size_t count_digits(uint64_t value) {
  // 1233 / 4096 is the decimal logarithm of 2, as nearly as is needed.
  const auto guess = static_cast<size_t>(std::bit_width(value) * 1233 >> 12);
  return guess + (value >= kTens[guess] ? 1 : 0);
}

// Scaled to a whole number, as nearly every cell can be: several times cheaper than the general conversion.
bool can_be_scaled(double value, int decimals) {
  return decimals >= 0 && decimals < static_cast<int>(kPowers.size()) && std::fabs(value) < 1e9;
}

// std::llround() of what can be scaled, without a call: what is cut off is exact.
int64_t rounded(double value) {
  const auto whole = static_cast<int64_t>(value);
  const double rest = value - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

char* write_general(char* at, double value, int decimals) {
  const auto [end, error] = std::to_chars(at, at + kLongestFixed, value, std::chars_format::fixed, decimals);
  return error == std::errc{} ? end : at;
}

constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

char* put_pair_before(char* end, uint64_t below_hundred) {
  std::memcpy(end - 2, &kPairs[2 * below_hundred], 2);
  return end - 2;
}

// 12345 with 3 decimals is 12.345.
char* write_scaled(char* at, int64_t value, int decimals) {
  // Most cells of a job that rests.
  if (value == 0) {
    std::memcpy(at, "0.000000", 8);
    return at + (decimals > 0 ? 2 + decimals : 1);
  }
  if (value < 0) *at++ = '-';
  uint64_t rest = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const auto places = static_cast<size_t>(decimals);
  char* const end = at + std::max(count_digits(rest), places + 1) + (places > 0 ? 1 : 0);
  char* digit = end;
  for (size_t i = 1; i < places; i += 2, rest /= 100) digit = put_pair_before(digit, rest % 100);
  if (places % 2 != 0) *--digit = static_cast<char>('0' + rest % 10), rest /= 10;
  if (places > 0) *--digit = '.';
  for (; rest >= 100; rest /= 100) digit = put_pair_before(digit, rest % 100);
  if (rest >= 10) put_pair_before(digit, rest);
  else *--digit = static_cast<char>('0' + rest);
  return end;
}

}  // namespace

char* write_fixed(char* at, double value, int decimals) {
  if (!std::isfinite(value)) return at;
  if (!can_be_scaled(value, decimals)) return write_general(at, value, decimals);
  return write_scaled(at, rounded(value * kPowers[static_cast<size_t>(decimals)]), decimals);
}

}  // namespace tacho
