// Points in time as Kubernetes and Katib write them (RFC 3339). Pure, thread-safe.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

// Year 1 must be possible: rows without a time of their own carry it.
struct Moment {
  int64_t seconds = 0;  // since 1970, UTC
  int32_t nanoseconds = 0;
  auto operator<=>(const Moment&) const = default;
};
// 2026-11-15T09:30:00Z, with a fraction of any length (cut off behind the nanosecond), with +01:00 for Z.
std::optional<Moment> parse_moment(std::string_view text);

std::string format_seconds(int64_t realtime_ns);       // 2026-11-15T09:30:00Z, as metav1.Time
std::string format_microseconds(int64_t realtime_ns);  // 2026-11-15T09:30:00.250000Z, as metav1.MicroTime

}  // namespace tacho
