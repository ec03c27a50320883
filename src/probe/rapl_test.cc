// The energy of the CPUs over a tree of powercap files.
#include <gtest/gtest.h>

#include "probe/system.h"
#include "support/probe_bench.h"

namespace tacho {
namespace {

class Rapl : public testing::Test {
 protected:
  void zone(const std::string& entry, const std::string& name, const std::string& energy_uj,
            const char* range_uj = "1000000") {
    const std::string folder = "sys/class/powercap/" + entry;
    tree.write(folder + "/name", name + "\n");
    tree.write(folder + "/energy_uj", energy_uj + "\n");
    tree.write(folder + "/max_energy_range_uj", std::string(range_uj) + "\n");
  }
  void energy(const std::string& entry, const std::string& uj) {
    tree.write("sys/class/powercap/" + entry + "/energy_uj", uj + "\n");
  }
  KernelTree tree{"x86_vm"};
};

TEST_F(Rapl, PackagesAndMemoryNotTheirParts) {
  zone("intel-rapl:0", "package-0", "100");
  zone("intel-rapl:0:0", "core", "50");
  zone("intel-rapl:0:1", "dram", "10");
  zone("intel-rapl:1", "package-1", "200");
  zone("intel-rapl:2", "psys", "900");
  zone("intel-rapl-mmio:0", "package-0", "100");
  ProbeBench bench(kRaplProbe, tree.roots());
  bench.tick();
  energy("intel-rapl:0", "500100");
  energy("intel-rapl:0:0", "300050");
  energy("intel-rapl:0:1", "100010");
  energy("intel-rapl:1", "200");
  energy("intel-rapl:2", "990000");
  bench.tick();
  EXPECT_NEAR(bench.cell("system_cpu_energy_j"), 0.6, 1e-9);
}

TEST_F(Rapl, GoesRound) {
  zone("intel-rapl:0", "package-0", "900000");
  ProbeBench bench(kRaplProbe, tree.roots());
  bench.tick();
  energy("intel-rapl:0", "100000");
  bench.tick();
  EXPECT_NEAR(bench.cell("system_cpu_energy_j"), 0.2, 1e-9);
  energy("intel-rapl:0", "150000");
  bench.tick();
  EXPECT_NEAR(bench.cell("system_cpu_energy_j"), 0.05, 1e-9);
}

TEST_F(Rapl, AFallWithoutARangeAddsNothing) {
  zone("intel-rapl:0", "package-0", "900000", "");
  ProbeBench bench(kRaplProbe, tree.roots());
  bench.tick();
  energy("intel-rapl:0", "100000");
  bench.tick();
  EXPECT_EQ(bench.cell("system_cpu_energy_j"), 0);
}

TEST_F(Rapl, OneThatCannotBeReadLeavesItEmptyAndLosesNothing) {
  zone("intel-rapl:0", "package-0", "100");
  zone("intel-rapl:1", "package-1", "100");
  ProbeBench bench(kRaplProbe, tree.roots());
  bench.tick();
  energy("intel-rapl:0", "200100");
  energy("intel-rapl:1", "");
  bench.tick();
  EXPECT_EQ(bench.now.has(0), false);
  energy("intel-rapl:1", "300100");
  bench.tick();
  EXPECT_NEAR(bench.cell("system_cpu_energy_j"), 0.5, 1e-9);
}

TEST_F(Rapl, TheCheckSaysWhy) {
  EXPECT_FALSE(kRaplProbe.check(tree.roots()));
  EXPECT_EQ(kRaplProbe.check(tree.roots()).error().code, Code::not_available);
  zone("intel-rapl:0", "package-0", "100");
  EXPECT_TRUE(kRaplProbe.check(tree.roots()));
  tree.remove("sys/class/powercap/intel-rapl:0/energy_uj");
  const Status refused = kRaplProbe.check(tree.roots());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::denied);
  EXPECT_NE(refused.error().hint.find("chmod"), std::string::npos);
}

}  // namespace
}  // namespace tacho
