// /proc/meminfo: memory of the machine. Pure; no I/O, no allocation. MemAvailable since Linux 3.14.
//   MemTotal:       24684100 kB
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

// All in bytes ("kB" of the file is 1024); −1: not in the file.
struct MemInfo {
  int64_t total = -1, free = -1, available = -1, buffers = -1, cached = -1, active = -1, inactive = -1, swap_total = -1,
          swap_free = -1, reclaimable = -1;

  // total − available; without available: total − free − buffers − cached − reclaimable. −1 when it cannot be known.
  int64_t used() const;
  // Page cache with reclaimable slab; −1 when it cannot be known.
  int64_t cached_and_reclaimable() const;
};

MemInfo parse_meminfo(std::string_view text);

}  // namespace tacho
