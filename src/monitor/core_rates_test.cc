#include "monitor/core_rates.h"

#include <gtest/gtest.h>

#include "procfs/stat.h"

namespace tacho {
namespace {

// As the CPU probe gives it, one tick being one nanosecond.
std::vector<CoreDetail> cores_of(std::string_view stat) {
  std::vector<CpuTicks> ticks(8);
  const auto count = static_cast<size_t>(parse_proc_stat(stat, ticks).cores);
  std::vector<CoreDetail> cores;
  for (size_t i = 0; i < count; ++i)
    cores.push_back(
        {ticks[i].busy(), ticks[i].total(), ticks[i].idle, ticks[i].iowait, ticks[i].steal, ticks[i].number});
  return cores;
}

std::vector<double> percent_of(const CoreRates& rates) { return {rates.percent().begin(), rates.percent().end()}; }

TEST(CoreRates, BusyIsAllButIdleAndGuestsCountOnce) {
  CoreRates rates;
  //              user nice system idle iowait irq softirq steal guest guest_nice
  rates.update(cores_of("cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n"));
  EXPECT_TRUE(rates.percent().empty()) << "a base has no rate";
  rates.update(cores_of("cpu0 10 5 5 50 10 5 5 10 10 5\ncpu1 0 0 0 100 0 0 0 0 0 0\n"));
  EXPECT_EQ(percent_of(rates), (std::vector<double>{50, 0}));
  EXPECT_DOUBLE_EQ(*rates.iowait_percent(), 5) << "10 of 200 ticks";
  EXPECT_DOUBLE_EQ(*rates.steal_percent(), 5);
}

TEST(CoreRates, RepeatsAValueWhileNoTickPasses) {
  CoreRates rates;
  rates.update(cores_of("cpu0 0 0 0 0\n"));
  rates.update(cores_of("cpu0 30 0 0 10\n"));
  EXPECT_EQ(percent_of(rates), std::vector<double>{75});
  rates.update(cores_of("cpu0 30 0 0 10\n"));
  EXPECT_EQ(percent_of(rates), std::vector<double>{75});
  rates.update(cores_of("cpu0 10 0 0 10\n"));
  EXPECT_EQ(percent_of(rates), std::vector<double>{75}) << "all ticks together went back";
  rates.update(cores_of("cpu0 10 0 0 20\n"));
  EXPECT_EQ(percent_of(rates), std::vector<double>{0});
}

TEST(CoreRates, StaysWithinZeroAndAHundred) {
  CoreRates rates;
  rates.update(cores_of("cpu0 100 0 0 100 50\n"));
  rates.update(cores_of("cpu0 100 0 0 190 20\n"));  // iowait fell by 30: busy −30
  EXPECT_EQ(percent_of(rates), std::vector<double>{0});
  rates.update(cores_of("cpu0 200 0 0 180 20\n"));  // idle fell by 10: busy above all
  EXPECT_EQ(percent_of(rates), std::vector<double>{100});
}

TEST(CoreRates, ACpuThatComesOrGoesIsNoError) {
  CoreRates rates;
  rates.update(cores_of("cpu0 0 0 0 0\ncpu1 0 0 0 0\ncpu2 500 0 0 0\n"));
  rates.update(cores_of("cpu0 10 0 0 0\ncpu2 500 0 0 10\n"));
  EXPECT_EQ(percent_of(rates), (std::vector<double>{100, 0})) << "cpu2 is not taken for cpu1";
  rates.update(cores_of("cpu0 10 0 0 10\ncpu1 900 0 0 0\ncpu2 510 0 0 10\n"));
  EXPECT_EQ(percent_of(rates), (std::vector<double>{0, 100})) << "cpu1 has no base yet";
  rates.update(cores_of("cpu0 10 0 0 20\ncpu1 905 0 0 5\ncpu2 520 0 0 10\n"));
  EXPECT_EQ(percent_of(rates), (std::vector<double>{0, 50, 100}));
}

}  // namespace
}  // namespace tacho
