#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tacho {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, TablesAgreeWithTheInstructionAtEveryLengthAndAlignment) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 37 + (i >> 3));
  for (size_t from = 0; from < 9; ++from)
    for (size_t size = 0; size + from < bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(from, size);
      ASSERT_EQ(crc32c(part), crc32c_portable(part)) << from << "+" << size;
    }
}

TEST(Crc32c, GoesOnFromWhereItWas) {
  const std::string text = "a record in two parts";
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text));
}

}  // namespace
}  // namespace tacho
