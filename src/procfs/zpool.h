// What `zpool list -Hp -o name,size,allocated,free` prints (OpenZFS 0.7 and newer), a line a pool, parted by tabs, in
// bytes:
//   tank	1000204886016	412316860416	587888025600
// Pure; no I/O, no allocation.
#pragma once
#include <cstdint>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

struct PoolLine {
  std::string_view name;  // may hold blanks
  int64_t size_bytes = 0, allocated_bytes = 0, free_bytes = 0;
};

// for (PoolLine line; lines.next(line);) …; a pool without figures ("-": it is faulted) is passed over.
class PoolLines {
 public:
  explicit PoolLines(std::string_view text) : scan_(text) {}
  bool next(PoolLine& line);

 private:
  Scanner scan_;
};

}  // namespace tacho
