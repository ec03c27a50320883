// Scales of columns (model/column.h): from the base unit of a reading to the printed one.
#pragma once

namespace tacho {

inline constexpr double kToSeconds = 1e-9;         // of nanoseconds
inline constexpr double kToMiB = 1.0 / (1 << 20);  // of bytes
inline constexpr double kPerMillion = 1e-6;        // of millionths of a share

}  // namespace tacho
