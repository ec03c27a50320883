// Exit statuses that mean the same in every program of tacho. Any other is 0, 1, or the job's own.
#pragma once

namespace tacho {

inline constexpr int kTimedOut = 124;  // the job was ended by --timeout
inline constexpr int kRefused = 125;   // tacho itself could not start, or was called with words that it does not know
inline constexpr int kNotExecutable = 126;  // the job's command
inline constexpr int kNotFound = 127;

}  // namespace tacho
