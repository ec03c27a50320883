#include "katib/time_stamp.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `count` digits from the front; −1 when they are not there.
int take_digits(std::string_view& text, size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in(int month, int year) {
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<size_t>(month - 1)];
}

void put_digits(char* at, int64_t value, int count) {
  for (int i = count - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

struct Civil {
  int64_t year;
  int64_t month, day;
};

// Days since 1970 to a date of the Gregorian calendar, by eras of 400 years that begin in March.
Civil civil_from_days(int64_t days) {
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t of_era = days - era * 146'097;
  const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * of_year + 2) / 153;
  const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, of_year - (153 * shifted + 2) / 5 + 1};
}

constexpr size_t kSecondsLength = 19;  // "2026-11-15T09:30:00"

// Writes the whole seconds; false when the year has not four digits. `nanoseconds` is left within a second.
bool put_seconds(char* at, int64_t seconds, int64_t& nanoseconds) {
  int64_t carry = nanoseconds / kNsPerSec;
  nanoseconds %= kNsPerSec;
  if (nanoseconds < 0) {
    nanoseconds += kNsPerSec;
    --carry;
  }
  constexpr int64_t kFirst = -62'167'219'200, kLast = 253'402'300'799;  // years 0 to 9999
  if (__builtin_add_overflow(seconds, carry, &seconds) || seconds < kFirst || seconds > kLast) return false;
  int64_t days = seconds / 86'400, of_day = seconds % 86'400;
  if (of_day < 0) {
    of_day += 86'400;
    --days;
  }
  const Civil date = civil_from_days(days);
  put_digits(at, date.year, 4);
  at[4] = '-';
  put_digits(at + 5, date.month, 2);
  at[7] = '-';
  put_digits(at + 8, date.day, 2);
  at[10] = 'T';
  put_digits(at + 11, of_day / 3600, 2);
  at[13] = ':';
  put_digits(at + 14, of_day / 60 % 60, 2);
  at[16] = ':';
  put_digits(at + 17, of_day % 60, 2);
  return true;
}

}  // namespace

bool is_rfc3339(std::string_view text) {
  const int year = take_digits(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  const int month = take_digits(text, 2);
  if (month < 1 || month > 12 || !take(text, '-')) return false;
  const int day = take_digits(text, 2);
  if (day < 1 || day > days_in(month, year) || !take(text, 'T')) return false;
  const int hour = take_digits(text, text.size() > 1 && is_digit(text[1]) ? 2 : 1);
  if (hour < 0 || hour > 23 || !take(text, ':')) return false;
  const int minute = take_digits(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return false;
  const int second = take_digits(text, 2);
  if (second < 0 || second > 59) return false;
  if (text.size() > 1 && (text[0] == '.' || text[0] == ',') && is_digit(text[1])) {
    text.remove_prefix(1);
    while (!text.empty() && is_digit(text.front())) text.remove_prefix(1);
  }
  if (text == "Z") return true;
  if (!take(text, '+') && !take(text, '-')) return false;
  const int offset_hours = take_digits(text, 2);
  if (offset_hours < 0 || offset_hours > 24 || !take(text, ':')) return false;
  const int offset_minutes = take_digits(text, 2);
  return offset_minutes >= 0 && offset_minutes <= 60 && text.empty();
}

std::optional<std::string> utc_microseconds(int64_t seconds, int64_t nanoseconds) {
  char text[kSecondsLength + 8];
  if (!put_seconds(text, seconds, nanoseconds)) return std::nullopt;
  text[kSecondsLength] = '.';
  put_digits(text + kSecondsLength + 1, nanoseconds / kNsPerUs, 6);
  text[kSecondsLength + 7] = 'Z';
  return std::string(text, sizeof text);
}

std::optional<std::string> utc_shortest(int64_t seconds, int64_t nanoseconds) {
  char text[kSecondsLength + 11];
  if (!put_seconds(text, seconds, nanoseconds)) return std::nullopt;
  size_t size = kSecondsLength;
  if (nanoseconds != 0) {
    text[size] = '.';
    put_digits(text + size + 1, nanoseconds, 9);
    size += 10;
    while (text[size - 1] == '0') --size;
  }
  text[size] = 'Z';
  return std::string(text, size + 1);
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
  if (number.empty() || number.find_first_not_of("0123456789.") != std::string_view::npos || number.rfind('.') != point || number == ".")
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

std::string ArrivalTimes::next() {
  const int64_t now_us = (now_ns_ ? now_ns_() : system_clock().realtime_ns()) / kNsPerUs;
  last_us_ = std::max(now_us, last_us_ + 1);
  return utc_microseconds(last_us_ / 1'000'000, last_us_ % 1'000'000 * kNsPerUs).value_or(std::string(kZeroTime));
}

}  // namespace tacho
