// What every target shares: the entry point that libFuzzer calls, and a check that says what broke.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

// The function that a target defines. An input is a text as the kernel could write it, or not.
void fuzz_one(std::string_view text);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz_one({reinterpret_cast<const char*>(data), size});
  return 0;
}

// A rule that must hold for every input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// Is `part` a piece of `text`? A parser hands out views: none may point elsewhere.
inline bool is_inside(std::string_view part, std::string_view text) {
  return part.empty() || (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}
