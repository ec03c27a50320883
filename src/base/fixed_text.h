// Numbers in fixed notation, straight into a buffer of the caller's: what rows are made of. Pure; thread-safe.
#pragma once
#include <cstddef>

namespace tacho {

inline constexpr size_t kLongestFixed = 400;  // more than any number with up to six decimals takes

// Writes exactly `decimals` digits behind the point at `at`, and returns where the text ends. NaN and infinities write
// nothing.
char* write_fixed(char* at, double value, int decimals);

}  // namespace tacho
