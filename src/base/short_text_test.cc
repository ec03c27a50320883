#include "base/short_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tacho {
namespace {

TEST(ShortText, IsWhatTheLibrarySaysAtEveryLength) {
  for (size_t size = 0; size < 80; ++size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i);
    std::string to(size + 2, '.');
    EXPECT_EQ(copy_text(to.data() + 1, text), to.data() + 1 + size);
    EXPECT_EQ(to, "." + text + ".");
    EXPECT_TRUE(same_text(text, to.substr(1, size)));
    EXPECT_FALSE(same_text(text, to.substr(1, size + 1)));
    for (size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = '\0';
      EXPECT_FALSE(same_text(text, other)) << size << " " << i;
    }
  }
}

}  // namespace
}  // namespace tacho
