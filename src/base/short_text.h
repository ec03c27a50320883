// memcmp() and memcpy() of texts that are short, mostly, as names, numbers and times are: a call costs more than the
// work. The last bytes overlap the first. Pure, thread-safe.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tacho {

inline bool same_bytes(const char* a, const char* b, size_t size) {
  const auto same_words = [&]<class Word>(Word x, Word y) {
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    Word difference = x ^ y;
    std::memcpy(&x, a + size - sizeof x, sizeof x);
    std::memcpy(&y, b + size - sizeof y, sizeof y);
    return (difference | (x ^ y)) == 0;
  };
  if (size > 32) return std::memcmp(a, b, size) == 0;
  if (size > 16) return same_bytes(a, b, 16) && same_bytes(a + size - 16, b + size - 16, 16);
  if (size >= 8) return same_words(uint64_t{}, uint64_t{});
  if (size >= 4) return same_words(uint32_t{}, uint32_t{});
  for (size_t i = 0; i < size; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

inline bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

// Returns the place behind the copy.
inline char* copy_text(char* to, std::string_view text) {
  const char* const from = text.data();
  const size_t size = text.size();
  const auto copy_halves = [&]<size_t kHalf>(std::array<char, kHalf> first, std::array<char, kHalf> second) {
    std::memcpy(first.data(), from, kHalf);
    std::memcpy(second.data(), from + size - kHalf, kHalf);
    std::memcpy(to, first.data(), kHalf);
    std::memcpy(to + size - kHalf, second.data(), kHalf);
  };
  if (size > 32) std::memcpy(to, from, size);
  else if (size >= 16) copy_halves(std::array<char, 16>(), std::array<char, 16>());
  else if (size >= 8) copy_halves(std::array<char, 8>(), std::array<char, 8>());
  else if (size >= 4) copy_halves(std::array<char, 4>(), std::array<char, 4>());
  else
    for (size_t i = 0; i < size; ++i) to[i] = from[i];
  return to + size;
}

}  // namespace tacho
