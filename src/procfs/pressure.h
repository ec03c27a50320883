// /proc/pressure/{cpu,memory,io} and a cgroup's *.pressure (PSI, since Linux 4.20). Pure; no I/O, no allocation.
//   some avg10=1.08 avg60=0.78 avg300=0.38 total=5762077
//   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
// The line "full" of cpu came with Linux 5.13.
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

struct Pressure {
  int64_t some_us = -1;  // −1: not in the file
  int64_t full_us = -1;
  int64_t some_avg10 = -1, full_avg10 = -1;  // hundredths of a percent
};

Pressure parse_pressure(std::string_view text);

}  // namespace tacho
