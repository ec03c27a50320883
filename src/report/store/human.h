// Figures as a person reads them, from the numbers that a record holds; the rounding is that of base/units.h. Pure.
#pragma once
#include <cstdint>
#include <string>

namespace tacho {

std::string duration_text(double seconds);
std::string interval_text(int64_t ns);  // 50ms, 1s, 5m
std::string number_text(double value);
std::string bytes_text(double bytes);
std::string cores_text(double used, double cores);  // "0.5 of 2 cores"; "1 core" where it is not known of how many

}  // namespace tacho
