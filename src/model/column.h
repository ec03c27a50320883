// A column is data: what it is called, in which unit, and how it follows from two raw readings. From these tables come
// the CSV header, JSON keys, `tacho list metrics` and docs/metrics.md.
//
// A probe reads Fields: raw cumulative counters and current levels in base units (bytes, nanoseconds, counts), all
// int64, absent when not read. Columns are derived from the reading before and the reading now, by pure rules.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tacho {

inline constexpr size_t kMaxFields = 32;

// What one probe read in one tick.
class Reading {
 public:
  int64_t stamp_ns = 0;  // CLOCK_MONOTONIC when it was read
  bool anew = false;     // its counters have nothing to do with those of the readings before

  void clear() {
    present_ = kept_ = 0;
    anew = false;
  }
  void set(size_t field, int64_t value) {
    value_[field] = value;
    present_ |= uint32_t{1} << field;
    kept_ &= ~(uint32_t{1} << field);
  }
  bool has(size_t field) const { return (present_ >> field & 1) != 0; }
  int64_t get(size_t field) const { return value_[field]; }
  int64_t stamp_of(size_t field) const { return (kept_ >> field & 1) != 0 ? kept_stamp_ns_[field] : stamp_ns; }

  // What this one could not read stands as it was read last, with the time of that reading: the next one counts from
  // there, so that a reading that fails loses nothing of what its interval added.
  void keep_from(const Reading& earlier) {
    if (anew) return;
    for (uint32_t missing = earlier.present_ & ~present_; missing != 0; missing &= missing - 1) {
      const auto field = static_cast<size_t>(std::countr_zero(missing));
      value_[field] = earlier.value_[field];
      kept_stamp_ns_[field] = earlier.stamp_of(field);
      present_ |= uint32_t{1} << field;
      kept_ |= uint32_t{1} << field;
    }
  }

 private:
  std::array<int64_t, kMaxFields> value_{};
  std::array<int64_t, kMaxFields> kept_stamp_ns_{};
  uint32_t present_ = 0;
  uint32_t kept_ = 0;  // of them: from an earlier reading
};

// The value of an unknown cell; written as an empty field, never as 0.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
inline bool is_absent(double value) { return std::isnan(value); }

enum class Rule : uint8_t {
  level,   // field × scale, as it is now
  delta,   // (now − before) × scale, what this interval added; a fall counts as 0
  rate,    // (now − before) × scale / seconds
  custom,  // derive(before, now, seconds)
};

// seconds is the monotonic time between the two readings of the column's field.
using Derive = double (*)(const Reading& before, const Reading& now, double seconds);

struct Column {
  int position;  // 1–32: the compatible columns; 100–199: extended (tracker.md §2); 200–: tacho's own
  std::string_view name;
  std::string_view unit;  // "s", "bytes", "MiB", "cores", "count" …
  int decimals;
  Rule rule;
  size_t field;           // of the probe's reading
  double scale;           // from the base unit to the printed one
  std::string_view help;  // one sentence
  Derive derive = nullptr;
};

// Cell 0 of every row; written by the session itself, not read by a probe.
inline constexpr Column kTimestampColumn{
    1,           "timestamp",
    "s",         3,
    Rule::level, 0,
    1,           "UNIX time at the end of the interval; goes back only where the machine's clock was set back."};

// One cell. Pure: same readings, same value.
double derive(const Column& column, const Reading& before, const Reading& now);

}  // namespace tacho
