// Durations and sizes: read from what people type, written for what people read.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

inline constexpr int64_t kNsPerUs = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSec = 1'000'000'000;
// Times in files and in figures are seconds; the one way there and back.
constexpr double as_seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }
constexpr double ms_as_seconds(int64_t ms) { return static_cast<double>(ms) / 1e3; }
constexpr double seconds_by_ms(int64_t ns) { return ms_as_seconds(ns / kNsPerMs); }  // as run.json has points in time
int64_t as_ns(double seconds);  // to the nearest; of what is neither NaN nor beyond three centuries
inline constexpr double kBytesToGb = 1e-9;
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();  // a deadline that there is not
inline constexpr int64_t kMiB = int64_t{1} << 20, kGiB = int64_t{1} << 30;

// "0.25" (seconds), "250ms", "5m", "1h30m"; units ns us ms s m h d. Zero, negative numbers and garbage are errors.
Result<int64_t> parse_duration_ns(std::string_view text);

// The one rounding of every figure that a person sees, wherever it stands; each keeps the order of what it is given.
std::string human_duration(int64_t ns);  // 0.4ms, 340ms, 1.5s, 42s, 12m04s, 5m, 3h02m, 2d04h
std::string human_bytes(double bytes);   // 512 B, 1.5 KiB, 9.8 GiB, 32 GiB
std::string human_number(double value);  // 0.04, 0.71, 3.1, 12.3, 250

}  // namespace tacho
