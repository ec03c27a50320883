// Numbers as other tools read them back: the shortest decimal that gives the same double. Pure; thread-safe.
#pragma once
#include <charconv>
#include <cmath>
#include <string>

namespace tacho {

// Whole numbers plain ("12"), or with ".0" where a reader wants to see a fraction; never an exponent below 1e17.
inline std::string shortest_decimal(double value, bool with_fraction = false) {
  char text[400];
  const bool plain = std::fabs(value) < 1e17;
  const auto end =
      std::to_chars(text, text + sizeof(text), value, plain ? std::chars_format::fixed : std::chars_format::general)
          .ptr;
  std::string result(text, end);
  if (with_fraction && result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

}  // namespace tacho
