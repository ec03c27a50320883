#include "codec/iso_time.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr std::string_view kShape = "0000-00-00T00:00:00.000Z";

void put_digits(char* at, int64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

}  // namespace

IsoTime::IsoTime(int64_t realtime_ns) {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds{realtime_ns / kNsPerMs}};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  std::copy(kShape.begin(), kShape.end(), text_);
  put_digits(text_, int{date.year()}, 4);
  put_digits(text_ + 5, unsigned{date.month()}, 2);
  put_digits(text_ + 8, unsigned{date.day()}, 2);
  put_digits(text_ + 11, clock.hours().count(), 2);
  put_digits(text_ + 14, clock.minutes().count(), 2);
  put_digits(text_ + 17, clock.seconds().count(), 2);
  put_digits(text_ + 20, clock.subseconds().count(), 3);
}

std::string compact_utc(int64_t realtime_ns) {
  const IsoTime time(realtime_ns);
  std::string text;
  for (const char c : time.view().substr(0, 19))
    if (c != '-' && c != ':') text += c;
  return text + "Z";
}

std::optional<int64_t> parse_iso_time(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != kShape.size()) return std::nullopt;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) return std::nullopt;
  }
  const auto number = [&](size_t at, size_t length) { return *parse_int<int>(text.substr(at, length)); };
  const year_month_day date{year{number(0, 4)}, month{static_cast<unsigned>(number(5, 2))},
                            day{static_cast<unsigned>(number(8, 2))}};
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60) return std::nullopt;
  const milliseconds since = sys_days{date}.time_since_epoch() + hours{number(11, 2)} + minutes{number(14, 2)} +
                             seconds{number(17, 2)} + milliseconds{number(20, 3)};
  if (since.count() > INT64_MAX / kNsPerMs || since.count() < 0) return std::nullopt;
  return since.count() * kNsPerMs;
}

}  // namespace tacho
