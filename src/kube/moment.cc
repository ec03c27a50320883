#include "kube/moment.h"

#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

std::optional<int> digits(std::string_view text, size_t at, size_t count, int least, int most) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Moment> parse_moment(std::string_view text) {
  const auto year = digits(text, 0, 4, 0, 9999), month = digits(text, 5, 2, 1, 12), day = digits(text, 8, 2, 1, 31);
  const auto hour = digits(text, 11, 2, 0, 23), minute = digits(text, 14, 2, 0, 59), second = digits(text, 17, 2, 0, 59);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  Moment moment;
  moment.seconds = std::chrono::sys_days{date}.time_since_epoch().count() * int64_t{86'400} + *hour * 3600 + *minute * 60 + *second;
  size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    int32_t unit = 100'000'000;
    const size_t begin = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) moment.nanoseconds += (text[at] - '0') * unit;
    if (at == begin) return std::nullopt;
  }
  if (text.substr(at) == "Z") return moment;
  const auto zone_hour = digits(text, at + 1, 2, 0, 23), zone_minute = digits(text, at + 4, 2, 0, 59);
  if (!zone_hour || !zone_minute || text.size() != at + 6 || text[at + 3] != ':' || (text[at] != '+' && text[at] != '-')) return std::nullopt;
  const int64_t offset = *zone_hour * 3600 + *zone_minute * 60;
  moment.seconds += text[at] == '+' ? -offset : offset;
  return moment;
}

std::string format_microseconds(int64_t realtime_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds{realtime_ns}};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<microseconds>(time - day)};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string format_seconds(int64_t realtime_ns) { return format_microseconds(realtime_ns).substr(0, 19) + "Z"; }

}  // namespace tacho
