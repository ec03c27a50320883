// Joins pieces of text; one allocation. Also keeps clear of a false -Wrestrict warning of g++ 12 about "literal" +
// temporary (GCC bug 105651).
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace tacho {

inline std::string concat(std::initializer_list<std::string_view> parts) {
  size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string out;
  out.reserve(size);
  for (const std::string_view part : parts) out += part;
  return out;
}

}  // namespace tacho
