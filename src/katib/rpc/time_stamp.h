// Time stamps of the observation log: RFC 3339 as the service takes them, UTC with microseconds as the store keeps
// them. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tacho {

// "2026-11-15T09:30:00.25+01:00" as µs since 1970; digits behind the microsecond are cut off. What Go's time.Parse
// takes as RFC 3339 is taken: an hour of one digit, a comma for the point, any number of fraction digits, years 0000
// to 9999. Nothing when it is none, or when it is outside those years in UTC.
std::optional<int64_t> parse_time_stamp_us(std::string_view text);

// A point in time as text; the views are good as long as the object. For what parse_time_stamp_us returned.
class TimeStampText {
 public:
  explicit TimeStampText(int64_t time_us);
  std::string_view sortable() const { return {text_, 26}; }  // 2026-11-15 08:30:00.250000, all of one length
  std::string_view wire();  // 2026-11-15T08:30:00.25Z: no trailing zeros, as Go writes it

 private:
  char text_[28];
};

// The other way round: nothing but the sortable form is accepted, any letter between date and time.
std::optional<int64_t> parse_sortable_us(std::string_view text);

}  // namespace tacho
