// Time stamps of the observation log: RFC 3339 as the service takes them, UTC with microseconds as the store keeps
// them. Pure, thread-safe.
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

// "2026-11-15T09:30:00.25+01:00" as µs since 1970; digits after the microsecond are cut off. It accepts what Go's
// time.Parse accepts as RFC 3339: an hour of one digit, a comma for the point, any number of fraction digits, years
// 0000 to 9999. Nothing when the text is no time stamp, or is outside those years in UTC.
std::optional<int64_t> parse_time_stamp_us(std::string_view text);

// The same for texts that follow each other: those of a log lie in one second, mostly, and then only the fraction is
// read. Not thread-safe.
class TimeStampParser {
 public:
  std::optional<int64_t> parse_us(std::string_view text);

 private:
  static constexpr size_t kSecond = 20;  // 2026-11-15T09:30:00.
  std::array<char, kSecond> second_{};   // of the last text that was a time in UTC with a fraction; none is all NUL
  int64_t second_us_ = 0;
};

// A point in time, as parse_time_stamp_us returns it, as text; the views are good as long as the object.
class TimeStampText {
 public:
  explicit TimeStampText(int64_t time_us);
  std::string_view sortable() const { return {text_, 26}; }  // 2026-11-15 08:30:00.250000, all of one length
  std::string_view wire();        // 2026-11-15T08:30:00.25Z: no trailing zeros, as Go writes it
  std::string_view all_digits();  // 2026-11-15T08:30:00.250000Z

 private:
  char text_[28];
};

// The time of a row: its text, byte for byte as it goes over the wire, and what that means. Parsed when the row is made
// and never again. Usual texts are kept in place, without an allocation.
class TimeStamp {
 public:
  TimeStamp() = default;  // none: empty, and no time
  TimeStamp(std::string_view text)
      : TimeStamp(text, parse_time_stamp_us(text)) {}  // any text, also one that is no time
  TimeStamp(const std::string& text) : TimeStamp(std::string_view(text)) {}
  TimeStamp(const char* text) : TimeStamp(std::string_view(text)) {}
  // For whoever knows what the text means.
  TimeStamp(std::string_view text, std::optional<int64_t> time_us);
  // In UTC with all six digits, like every time that tacho makes itself.
  static TimeStamp at(int64_t time_us);

  std::string_view text() const { return long_ ? std::string_view(*long_) : std::string_view(short_.data(), size_); }
  // µs since 1970; nothing when the text is no RFC 3339.
  std::optional<int64_t> us() const { return us_ == kNoTime ? std::nullopt : std::optional(us_); }

  bool empty() const { return text().empty(); }
  size_t size() const { return text().size(); }
  std::string str() const { return std::string(text()); }
  friend bool operator==(const TimeStamp& a, const TimeStamp& b) { return a.text() == b.text(); }
  friend auto operator<=>(const TimeStamp& a, const TimeStamp& b) { return a.text() <=> b.text(); }

 private:
  static constexpr int64_t kNoTime = INT64_MIN;
  static constexpr size_t kShort = 39;
  std::shared_ptr<const std::string> long_;  // texts that are longer than short_
  int64_t us_ = kNoTime;
  uint8_t size_ = 0;
  std::array<char, kShort> short_{};
};

// The other way round: nothing but the sortable form is accepted, any letter between date and time.
std::optional<int64_t> parse_sortable_us(std::string_view text);

}  // namespace tacho
