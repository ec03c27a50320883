#include "spool/seals.h"

#include <gtest/gtest.h>

#include "support/spool_case.h"

namespace tacho {
namespace {

TEST(Seals, SealLines) {
  const Seal seal{12, 3456, 60, 0x0a1b2c3d};
  EXPECT_EQ(seal_line(seal), "000012 3456 60 0a1b2c3d\n");
  const auto parsed = parse_seal("000012 3456 60 0a1b2c3d");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->number, 12u);
  EXPECT_EQ(parsed->bytes, 3456);
  EXPECT_EQ(parsed->rows, 60);
  EXPECT_EQ(parsed->crc, 0x0a1b2c3du);
  for (const char* torn : {"", "000012", "000012 3456 60", "000012 3456 60 0a1b", "x 1 1 00000000", "1 1 1 zzzzzzzz"})
    EXPECT_FALSE(parse_seal(torn)) << torn;
}

TEST(Seals, ASealBehindATornOneIsNoOtherSeal) {
  EXPECT_TRUE(parse_seal("1234567 20 1 0a1b2c3d"));
  for (const char* line : {"00001000011 20 1 0a1b2c3d", "0000000004 20 1 0a1b2c3d", "04 20 1 0a1b2c3d"})
    EXPECT_FALSE(parse_seal(line)) << line;
}

// A line has no checksum of its own: what no segment can have is no seal, and the segment is sealed anew.
TEST(Seals, NumbersThatCannotBe) {
  EXPECT_TRUE(parse_seal("000000 20 0 0a1b2c3d"));
  for (const char* line : {"000000 20 -1 0a1b2c3d", "000000 -1 -1 0a1b2c3d", "000000 20 21 0a1b2c3d",
                           "000000 9000000000000000000 9000000000000000000 0a1b2c3d", "000000 20 1 0a1b2c3d "})
    EXPECT_FALSE(parse_seal(line)) << line;
}

}  // namespace
}  // namespace tacho
