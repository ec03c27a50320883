#include "report/human.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace tacho {

std::string duration_text(double seconds) {
  // A damaged file may hold anything; 9e9 s are three centuries.
  const std::string text = human_duration(static_cast<int64_t>(std::clamp(seconds, -9e9, 9e9) * 1e9));
  if (text.ends_with(".0s")) return text.substr(0, text.size() - 3) + "s";
  for (const std::string_view zero : {"00s", "00m", "00h"})
    if (text.size() > zero.size() + 1 && text.ends_with(zero)) return text.substr(0, text.size() - zero.size());
  return text;
}

std::string interval_text(int64_t ns) {
  if (ns % kNsPerSec != 0 && ns < 10 * kNsPerSec) return std::to_string(ns / kNsPerMs) + "ms";
  return duration_text(static_cast<double>(ns) / 1e9);
}

std::string number_text(double value) {
  std::string text = human_number(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string bytes_text(double bytes) {
  const std::string text = human_bytes(bytes);
  const size_t zero = text.find(".0 ");
  return zero == std::string::npos ? text : text.substr(0, zero) + text.substr(zero + 2);
}

}  // namespace tacho
