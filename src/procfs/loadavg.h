// /proc/loadavg. Pure; no I/O, no allocation.
//   0.01 0.04 0.02 4/90 5476
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

struct LoadAverage {
  int64_t load1_hundredths = -1;  // −1: not in the file
  int64_t running = -1;           // threads that run or wait for a CPU
  int64_t threads = -1;           // threads alive
  int64_t last_pid = -1;          // the number given last, to a process or a thread, in the reader's own pid namespace
};

LoadAverage parse_loadavg(std::string_view text);

}  // namespace tacho
