// ISO 8601 in UTC with milliseconds, as run.json has it: 2026-11-15T09:30:00.250Z. Pure, thread-safe, no allocation.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/writer.h"

namespace tacho {

// 24 characters for the years 0 to 9999; the view is good as long as the IsoTime.
class IsoTime {
 public:
  explicit IsoTime(int64_t realtime_ns);
  std::string_view view() const { return {text_, sizeof text_}; }
  std::string_view date() const { return {text_, 10}; }  // 2026-11-15

 private:
  char text_[24];
};

// "20261115T093000Z", as a part of names.
std::string compact_utc(int64_t realtime_ns);

// Nothing else than the form above is accepted.
std::optional<int64_t> parse_iso_time(std::string_view text);

}  // namespace tacho
