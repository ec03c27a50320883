#include "monitor/packed_rows.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

std::string records(int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i)
    text += "record " + std::to_string(i) + " of a segment with much that repeats itself\n";
  return text;
}

std::string all_of(PackedRows& rows) {
  std::string all;
  rows.take([&](std::string_view some) { all += some; });
  return all;
}

TEST(PackedRows, GiveBackAllThatIsNotSentInOrder) {
  PackedRows rows;
  for (uint32_t segment = 0; segment < 5; ++segment) rows.add(segment, records(static_cast<int>(segment) * 100, 100));
  EXPECT_LT(rows.bytes(), records(0, 500).size() / 3);
  rows.forget_oldest([](uint32_t segment) { return segment != 1; });
  rows.forget_all([](uint32_t segment) { return segment == 3; });
  EXPECT_EQ(all_of(rows), records(100, 200) + records(400, 100));
  EXPECT_TRUE(rows.is_empty());
  EXPECT_EQ(rows.bytes(), 0U);
  EXPECT_EQ(all_of(rows), "");
}

TEST(PackedRows, TakeSegmentsOfAnySize) {
  PackedRows rows;
  rows.add(1, "");
  rows.add(2, "x");
  rows.add(3, records(0, 20'000));
  EXPECT_EQ(all_of(rows), "x" + records(0, 20'000));
}

TEST(PackedRows, StayBelowTheirBoundAndKeepTheNewest) {
  PackedRows rows(2000);
  for (uint32_t segment = 0; segment < 50; ++segment) {
    rows.add(segment, records(static_cast<int>(segment), 1));
    EXPECT_LE(rows.bytes(), 2000U);
  }
  const std::string left = all_of(rows);
  EXPECT_TRUE(left.ends_with(records(49, 1)));
  EXPECT_GT(left.size(), 5 * records(0, 1).size());
}

}  // namespace
}  // namespace tacho
