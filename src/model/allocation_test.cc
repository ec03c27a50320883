#include "model/allocation.h"

#include <gtest/gtest.h>

#include <map>

#include "model/column.h"

namespace tacho {
namespace {

std::string_view guess(const std::map<std::string_view, double>& means) {
  return guess_allocation([&](std::string_view column) { return means.contains(column) ? means.at(column) : kAbsent; });
}

TEST(Allocation, IsSharedByAFactorOrAMargin) {
  EXPECT_EQ(guess({{"system_cpu_usage", 4.0}, {"process_cpu_usage", 3.9}}), "dedicated");
  EXPECT_EQ(guess({{"system_cpu_usage", 4.0}, {"process_cpu_usage", 3.7}}), "shared");   // 0.3 cores above
  EXPECT_EQ(guess({{"system_cpu_usage", 0.26}, {"process_cpu_usage", 0.2}}), "shared");  // 1.3 times
  EXPECT_EQ(guess({{"system_memory_used_mib", 1400}, {"process_memory_mib", 1000}}), "dedicated");
  EXPECT_EQ(guess({{"system_memory_used_mib", 9600}, {"process_memory_mib", 9000}}), "shared");
  EXPECT_EQ(
      guess({{"system_gpu_usage", 1}, {"process_gpu_usage", 0.85}, {"system_cpu_usage", 1}, {"process_cpu_usage", 1}}),
      "dedicated");
  EXPECT_EQ(guess({{"system_gpu_vram_mib", 9000}, {"process_gpu_vram_mib", 8000}}), "shared");
}

TEST(Allocation, IsNotGuessedWithoutBothSides) {
  EXPECT_EQ(guess({}), "");
  EXPECT_EQ(guess({{"system_cpu_usage", 4.0}, {"process_memory_mib", 1}}), "");
}

}  // namespace
}  // namespace tacho
