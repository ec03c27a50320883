// TACHO_FINISH_TIMEOUT: how long the end of a run may wait until its rows have arrived. tacho obeys it, and so does a
// tacho-deliver whose tacho was killed. Thread-safe.
#pragma once
#include <cstdint>
#include <optional>

namespace tacho {

inline constexpr const char* kFinishTimeoutVariable = "TACHO_FINISH_TIMEOUT";

// At most a day; nothing where it is unset, or no number of seconds.
std::optional<int64_t> finish_timeout_ns();

}  // namespace tacho
