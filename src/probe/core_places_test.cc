#include "probe/core_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tacho {
namespace {

std::vector<CpuTicks> many_cores(size_t count) {
  std::vector<CpuTicks> cores(count);
  for (size_t i = 0; i < count; ++i) {
    cores[i].number = static_cast<int64_t>(i);
    cores[i].user = 1;
    cores[i].idle = 3;
  }
  return cores;
}

TEST(CorePlaces, AColumnForEachCore) {
  auto cores = many_cores(4);
  cores.erase(cores.begin() + 2);  // offline
  CorePlaces places;
  places.list(Roots{}, cores);
  ASSERT_EQ(places.columns().size(), 3u);
  EXPECT_EQ(places.columns()[2].name, "core_3_usage");
  std::vector<DeviceValue> values(3);
  auto now = many_cores(9);  // some came since
  now.erase(now.begin());    // one went
  places.fill(now, values);
  EXPECT_FALSE(values[0].has());
  EXPECT_EQ(values[1].value, 1);
  EXPECT_EQ(values[2].whole, 4);
}

TEST(CorePlaces, NodesOnALargeMachine) {
  const TempDir dir;
  Roots roots;
  roots.sys = dir.path();
  for (const auto& [node, list] : {std::pair{"node0", "0-127,256-299"}, {"node1", "128-255"}}) {
    std::filesystem::create_directories(dir / ("devices/system/node/" + std::string(node)));
    std::ofstream(dir / ("devices/system/node/" + std::string(node) + "/cpulist")) << list << "\n";
  }
  CorePlaces places;
  places.list(roots, many_cores(300));
  ASSERT_EQ(places.columns().size(), 2u);
  EXPECT_EQ(places.columns()[1].name, "node_1_usage");
  std::vector<DeviceValue> values(2);
  places.fill(many_cores(300), values);
  EXPECT_EQ(values[0].value, 172);
  EXPECT_EQ(values[1].whole, 4 * 128);
  places.list(Roots{dir / "none", dir / "none", ""}, many_cores(257));
  EXPECT_EQ(places.columns().size(), 1u);
  EXPECT_EQ(places.columns()[0].name, "node_0_usage");
  places.list(roots, many_cores(256));
  EXPECT_EQ(places.columns().size(), 256u);
}

}  // namespace
}  // namespace tacho
