#include "model/device.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tacho {
namespace {

TEST(DeviceTable, CellsFollowFromTwoTicks) {
  DeviceTable table;
  const size_t first = table.add({{"core", DeviceRule::share, 1, 4}, {"read", DeviceRule::delta, 1, 0}});
  const size_t second =
      table.add({{"busy", DeviceRule::share_of_time, 1e-3, 4}, {"watts", DeviceRule::level, 1e-3, 3}});
  EXPECT_EQ(second, first + 2);
  const auto tick = [&](DeviceValue core, int64_t read, int64_t busy, int64_t watts) {
    table.begin_tick();
    table.values(0, 1)[0] = core;
    table.values(1, 1)[0].value = read;
    table.values(2, 1)[0].value = busy;
    table.values(3, 1)[0].value = watts;
    return table.cells(2);
  };
  auto cells = tick({100, 1000}, 50, 0, 1500);
  EXPECT_TRUE(std::isnan(cells[0]) && std::isnan(cells[1]) && std::isnan(cells[2]));
  EXPECT_DOUBLE_EQ(cells[3], 1.5);
  cells = tick({150, 1100}, 70, 500, 1500);
  EXPECT_DOUBLE_EQ(cells[0], 0.5);
  EXPECT_DOUBLE_EQ(cells[1], 20);
  EXPECT_DOUBLE_EQ(cells[2], 0.25);
  // What was not read is empty, and the next difference covers both intervals.
  constexpr int64_t kNone = DeviceValue::kAbsentValue;
  cells = tick({kNone, 0}, kNone, kNone, kNone);
  for (const double cell : cells) EXPECT_TRUE(std::isnan(cell));
  cells = tick({150, 1100}, 10, 99'999, 0);
  EXPECT_EQ(cells[0], 0);  // no time counted
  EXPECT_EQ(cells[1], 0);  // a counter that began anew
  EXPECT_EQ(cells[2], 1);  // never above 1
}

}  // namespace
}  // namespace tacho
