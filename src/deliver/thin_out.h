// For a spool that had to go to memory, which must stay bounded too: the oldest rows are merged pairwise, so that
// totals and peaks stay true while time becomes coarser. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "spool/reader.h"

namespace tacho {

inline constexpr int64_t kMemoryLimit_bytes = int64_t{64} << 20;

// Every two rows become one: what an interval added is summed, everything else is the larger value, the time is the
// later one. An odd row at the end stays.
std::string merge_pairwise(std::string_view csv);

// Merges the oldest segments that lie in `memory_root` and were not uploaded yet, until they are within the limit.
// Returns how many rows are gone.
int64_t thin_out(const SpoolRun& run, const std::function<bool(uint32_t number)>& uploaded,
                 int64_t limit_bytes = kMemoryLimit_bytes, std::string_view memory_root = "/dev/shm/");

}  // namespace tacho
