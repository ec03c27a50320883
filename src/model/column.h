// A column is data: what it is called, in which unit, and how it follows from two raw readings. From these tables come
// the CSV header, JSON keys, `tacho list metrics` and docs/metrics.md.
//
// A probe reads Fields: raw cumulative counters and current levels in base units (bytes, nanoseconds, counts), all
// int64, absent when not read. Columns are derived from the reading before and the reading now, by pure rules.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace tacho {

inline constexpr size_t kMaxFields = 32;

// What one probe read in one tick.
class Reading {
 public:
  int64_t stamp_ns = 0;  // CLOCK_MONOTONIC when it was read
  bool gap = false;      // counters could not be read: the next reading counts from the one before this

  void clear() {
    present_ = 0;
    gap = false;
  }
  void set(size_t field, int64_t value) {
    value_[field] = value;
    present_ |= uint32_t{1} << field;
  }
  bool has(size_t field) const { return (present_ >> field & 1) != 0; }
  int64_t get(size_t field) const { return value_[field]; }

 private:
  std::array<int64_t, kMaxFields> value_{};
  uint32_t present_ = 0;
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

// seconds is the monotonic time between the two readings of this probe.
using Derive = double (*)(const Reading& before, const Reading& now, double seconds);

struct Column {
  int position;           // 1–32: the compatible columns; 100–199: extended (tracker.md §2); 200–: tacho's own
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
inline constexpr Column kTimestampColumn{1, "timestamp", "s", 3, Rule::level, 0, 1,
                                         "UNIX time at the end of the interval; strictly increasing."};

// One cell. Pure: same readings, same value.
double derive(const Column& column, const Reading& before, const Reading& now);

}  // namespace tacho
