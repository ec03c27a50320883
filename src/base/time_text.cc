#include "base/time_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr std::string_view kShape = "0000-00-00T00:00:00.000Z";

// Towards the past, also before 1970.
int64_t whole(int64_t ns, int64_t unit_ns) { return ns / unit_ns - (ns % unit_ns < 0 ? 1 : 0); }

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

void put_digits(char* at, int64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

void put_utc(char* at, int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const int64_t of_day = (time - day).count();
  std::copy_n(kShape.begin(), kUtcLength, at);
  put_digits(at, int{date.year()}, 4);
  put_digits(at + 5, unsigned{date.month()}, 2);
  put_digits(at + 8, unsigned{date.day()}, 2);
  put_digits(at + 11, of_day / 3600, 2);
  put_digits(at + 14, of_day / 60 % 60, 2);
  put_digits(at + 17, of_day % 60, 2);
}

std::optional<int64_t> days_since_1970(int year, int month, int day) {
  // The library's types have room for a byte or two, and cut the rest off.
  if (year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

IsoTime::IsoTime(int64_t realtime_ns) {
  const int64_t seconds = whole(realtime_ns, kNsPerSec);
  put_utc(text_, seconds);
  text_[kUtcLength] = '.';
  put_digits(text_ + kUtcLength + 1, whole(realtime_ns, kNsPerMs) - seconds * 1000, 3);
  text_[sizeof text_ - 1] = 'Z';
}

std::string local_time_text(int64_t realtime_ns, bool with_seconds) {
  const std::time_t seconds = whole(realtime_ns, kNsPerSec);
  std::tm local{};
  std::array<char, 64> text{};
  if (realtime_ns <= 0 || ::localtime_r(&seconds, &local) == nullptr) return {};
  const char* pattern = with_seconds ? "%Y-%m-%d %H:%M:%S %Z" : "%Y-%m-%d %H:%M %Z";
  return {text.data(), std::strftime(text.data(), text.size(), pattern, &local)};
}

std::string local_milliseconds(int64_t realtime_ns) {
  const std::time_t seconds = whole(realtime_ns, kNsPerSec);
  std::tm local{};
  std::array<char, 64> text{};
  if (realtime_ns <= 0 || ::localtime_r(&seconds, &local) == nullptr) return {};
  const size_t size = std::strftime(text.data(), text.size() - 4, "%Y-%m-%d %H:%M:%S.", &local);
  put_digits(text.data() + size, whole(realtime_ns, kNsPerMs) - seconds * 1000, 3);
  return text.data();
}

DateText::DateText(int64_t realtime_ns) {
  const std::time_t seconds = whole(realtime_ns, kNsPerSec);
  std::tm utc{};
  size_ =
      ::gmtime_r(&seconds, &utc) == nullptr ? 0 : std::strftime(text_, sizeof text_, "%a %b %e %H:%M:%S UTC %Y", &utc);
}

std::string format_seconds(int64_t realtime_ns) {
  std::string text(kUtcLength + 1, 'Z');
  put_utc(text.data(), whole(realtime_ns, kNsPerSec));
  return text;
}

MicroTime::MicroTime(int64_t realtime_ns) {
  const int64_t seconds = whole(realtime_ns, kNsPerSec);
  put_utc(text_, seconds);
  text_[kUtcLength] = '.';
  put_digits(text_ + kUtcLength + 1, whole(realtime_ns, kNsPerUs) - seconds * 1'000'000, 6);
  text_[sizeof text_ - 1] = 'Z';
}

std::string format_microseconds(int64_t realtime_ns) { return std::string(MicroTime(realtime_ns).view()); }

std::string compact_utc(int64_t realtime_ns) {
  std::string text = format_seconds(realtime_ns);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

std::optional<int64_t> parse_compact_utc(std::string_view text) {
  if (text.size() < 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  const int year = take(text, 4), month = take(text, 2), day = take(text, 2);
  text.remove_prefix(1);
  const int hour = take(text, 2), minute = take(text, 2), second = take(text, 2);
  if (std::min({year, month, day, hour, minute, second}) < 0 || hour > 23 || minute > 59 || second > 60)
    return std::nullopt;
  const std::optional<int64_t> days = days_since_1970(year, month, day);
  if (!days) return std::nullopt;
  return *days * 86400 + hour * 3600 + minute * 60 + second;
}

std::optional<int64_t> parse_iso_time(std::string_view text) {
  if (text.size() != kShape.size()) return std::nullopt;
  for (size_t i = 0; i < kShape.size(); ++i)
    if (kShape[i] == '0' ? !is_digit(text[i]) : text[i] != kShape[i]) return std::nullopt;
  return parse_iso_date_ns(text);
}

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
  const std::optional<int64_t> days = days_since_1970(year, month, day);
  if (!zone || !days) return std::nullopt;
  return (*days * 86400 + hour * 3600 + minute * 60 + second - *zone) * kNsPerSec + fraction_ns;
}

}  // namespace tacho
