#include "base/hex.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <random>
#include <string>

namespace tacho {
namespace {

template <class Unsigned>
std::optional<Unsigned> by_library(std::string_view text) {
  Unsigned value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

TEST(Hex, ReadsWhatTheLibraryReads) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF", kOthers = "/:@G`g x-+.";
  std::mt19937 random(7);
  const auto any_of = [&](std::string_view letters) { return letters[random() % letters.size()]; };
  size_t numbers = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (size_t length = random() % 20; text.size() < length;)
      text += any_of(random() % 64 == 0 ? kOthers : random() % 4 == 0 ? "0" : kDigits);
    EXPECT_EQ(parse_hex<uint32_t>(text), by_library<uint32_t>(text)) << text;
    EXPECT_EQ(parse_hex<uint64_t>(text), by_library<uint64_t>(text)) << text;
    numbers += parse_hex<uint64_t>(text).has_value();
  }
  EXPECT_GT(numbers, 100'000u);
}

}  // namespace
}  // namespace tacho
