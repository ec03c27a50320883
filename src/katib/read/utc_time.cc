#include "katib/read/utc_time.h"

#include <algorithm>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;

// Writes the whole seconds; false when the year has not four digits. `nanoseconds` is left within a second, and moves
// `seconds`.
bool put_seconds(char* at, int64_t& seconds, int64_t& nanoseconds) {
  int64_t carry = nanoseconds / kNsPerSec;
  nanoseconds %= kNsPerSec;
  if (nanoseconds < 0) {
    nanoseconds += kNsPerSec;
    --carry;
  }
  if (__builtin_add_overflow(seconds, carry, &seconds) || seconds < kFirstUtcSecond || seconds > kLastUtcSecond)
    return false;
  put_utc(at, seconds);
  return true;
}

}  // namespace

const TimeStamp& zero_time() {
  static const TimeStamp zero(kZeroTime);
  return zero;
}

std::optional<TimeStamp> utc_microseconds(int64_t seconds, int64_t nanoseconds) {
  char text[kUtcLength + 8];
  if (!put_seconds(text, seconds, nanoseconds)) return std::nullopt;
  text[kUtcLength] = '.';
  put_digits(text + kUtcLength + 1, nanoseconds / kNsPerUs, 6);
  text[kUtcLength + 7] = 'Z';
  return TimeStamp({text, sizeof text}, seconds * kUsPerSecond + nanoseconds / kNsPerUs);
}

std::optional<TimeStamp> utc_shortest(int64_t seconds, int64_t nanoseconds) {
  char text[kUtcLength + 11];
  if (!put_seconds(text, seconds, nanoseconds)) return std::nullopt;
  size_t size = kUtcLength;
  if (nanoseconds != 0) {
    text[size] = '.';
    put_digits(text + size + 1, nanoseconds, 9);
    size += 10;
    while (text[size - 1] == '0') --size;
  }
  text[size] = 'Z';
  return TimeStamp({text, size + 1}, seconds * kUsPerSecond + nanoseconds / kNsPerUs);
}

std::optional<std::pair<int64_t, int64_t>> decimal_seconds(std::string_view number) {
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
  if (number.empty() || number.find_first_not_of("0123456789.") != std::string_view::npos ||
      number.rfind('.') != point || number == ".")
    return std::nullopt;
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
  return negative ? std::pair(-seconds, -nanoseconds) : std::pair(seconds, nanoseconds);
}

TimeStamp ArrivalTimes::next() {
  const int64_t now_us = (now_ns_ ? now_ns_() : system_clock().realtime_ns()) / kNsPerUs;
  last_us_ = std::max(now_us, last_us_ + 1);
  return TimeStamp::at(last_us_);
}

}  // namespace tacho
