// The times that tacho writes itself. How one is read: katib/model/time_stamp.h. Pure but for ArrivalTimes, which is
// not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "katib/model/time_stamp.h"

namespace tacho {

// What a row without a time of its own gets.
inline constexpr std::string_view kZeroTime = "0001-01-01T00:00:00Z";
const TimeStamp& zero_time();  // the same

// Seconds since 1970 and nanoseconds (any, also beyond a second) in UTC, with six digits of fraction. Nothing when the
// year does not have four digits.
std::optional<TimeStamp> utc_microseconds(int64_t seconds, int64_t nanoseconds);
// The same with as many digits as it takes, none to nine.
std::optional<TimeStamp> utc_shortest(int64_t seconds, int64_t nanoseconds);

// "1638422847.5", "1.6e9": seconds and nanoseconds of a decimal number, cut to nanoseconds; both negative before 1970.
// Nothing when it is no such number or far beyond the year 9999.
std::optional<std::pair<int64_t, int64_t>> decimal_seconds(std::string_view number);

// The time of reading in microseconds, each later than the one before.
class ArrivalTimes {
 public:
  explicit ArrivalTimes(std::function<int64_t()> now_ns) : now_ns_(std::move(now_ns)) {}
  TimeStamp next();

 private:
  std::function<int64_t()> now_ns_;  // empty: the system's clock
  int64_t last_us_ = 0;
};

}  // namespace tacho
