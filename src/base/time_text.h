// Points in time as text, in UTC for programs and local with its zone for people, and back: nothing else in src/ takes
// a date apart or puts one together, but for what other grammars ask (katib/model/time_stamp.h reads as Go does). Pure,
// thread-safe; no allocation where no std::string is returned.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

// The parts that all forms are made of. Years 0 to 9999.
constexpr int64_t kFirstUtcSecond = -62'167'219'200, kLastUtcSecond = 253'402'300'799;
constexpr size_t kUtcLength = 19;
void put_digits(char* at, int64_t value, int digits);
void put_utc(char* at, int64_t seconds);                               // "2026-11-15T09:30:00"
std::optional<int64_t> days_since_1970(int year, int month, int day);  // nothing for 30 February

// With milliseconds, as run.json has it: 2026-11-15T09:30:00.250Z. The view is good as long as the IsoTime.
class IsoTime {
 public:
  explicit IsoTime(int64_t realtime_ns);
  std::string_view view() const { return {text_, sizeof text_}; }
  std::string_view date() const { return {text_, 10}; }  // 2026-11-15

 private:
  char text_[24];
};
// Nothing else than that form is accepted.
std::optional<int64_t> parse_iso_time(std::string_view text);

// For people, everywhere: local time with its zone, 2026-11-15 10:30:00 CET; by whole minutes in a list. Empty when it
// cannot be told. Thread-safe as long as nobody sets TZ meanwhile.
std::string local_time_text(int64_t realtime_ns, bool with_seconds = true);
std::string local_milliseconds(int64_t realtime_ns);  // 2026-11-15 10:30:00.250: for programs that know no zone

// As date(1) writes it in UTC, with two places for the day: Sun Nov  1 09:30:00 UTC 2026.
class DateText {
 public:
  explicit DateText(int64_t realtime_ns);
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[48];
  size_t size_;
};

// With microseconds, as BigQuery and Kubernetes have it: 2026-11-15T09:30:00.250000Z.
class MicroTime {
 public:
  explicit MicroTime(int64_t realtime_ns);
  std::string_view view() const { return {text_, sizeof text_}; }

 private:
  char text_[kUtcLength + 8];
};

std::string format_seconds(int64_t realtime_ns);       // 2026-11-15T09:30:00Z
std::string format_microseconds(int64_t realtime_ns);  // 2026-11-15T09:30:00.250000Z

// "20261115T093000Z", as a part of names; what stands behind it is not looked at when it is read. UNIX seconds.
std::string compact_utc(int64_t realtime_ns);
std::optional<int64_t> parse_compact_utc(std::string_view text);

// As web services write it: 2026-11-15T09:30:00Z, with a fraction, with +01:00 or +0100 for Z, with a blank for T, in
// any mixture. ns since 1970; without a zone it is UTC. Digits behind the nanosecond are cut off.
std::optional<int64_t> parse_iso_date_ns(std::string_view text);

}  // namespace tacho
