// Parts of a text put together. Pure, thread-safe.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace tacho {

// Those that are not empty, with `between` between each two of them.
template <class Parts = std::initializer_list<std::string>>
std::string joined(const Parts& parts, std::string_view between = ", ") {
  std::string text;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

}  // namespace tacho
