#include "report/store/human.h"

#include <algorithm>

#include "base/units.h"
#include "model/column.h"

namespace tacho {

std::string duration_text(double seconds) {
  // A damaged file may hold anything; 9e9 s are three centuries.
  return human_duration(as_ns(std::clamp(seconds, -9e9, 9e9)));
}

std::string interval_text(int64_t ns) {
  if (ns % kNsPerSec != 0 && ns < 10 * kNsPerSec) return std::to_string(ns / kNsPerMs) + "ms";
  return human_duration(ns);
}

std::string number_text(double value) { return human_number(value); }
std::string cores_text(double used, double cores) {
  const std::string all = number_text(is_absent(cores) ? used : cores);
  return (is_absent(cores) ? "" : number_text(used) + " of ") + all + (all == "1" ? " core" : " cores");
}
std::string bytes_text(double bytes) { return human_bytes(bytes); }

}  // namespace tacho
