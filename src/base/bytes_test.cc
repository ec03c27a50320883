#include "base/bytes.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(Bytes, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_bytes("1073741824"), int64_t{1} << 30);
  EXPECT_EQ(parse_bytes("512k"), 512 << 10);
  EXPECT_EQ(parse_bytes("500M"), int64_t{500} << 20);
  EXPECT_EQ(parse_bytes("500MB"), int64_t{500} << 20);
  EXPECT_EQ(parse_bytes("1.5 GiB"), int64_t{3} << 29);
  EXPECT_EQ(parse_bytes("2T"), int64_t{2} << 40);
}

TEST(Bytes, GarbageIsNoSize) {
  for (const char* text :
       {"", "M", "0", "-1", "1e9", "12 apples", "1 2", "1.2.3", "5X", "5ib", "99999999999999T", "nan", "inf"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

}  // namespace
}  // namespace tacho
