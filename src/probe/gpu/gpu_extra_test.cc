#include "probe/gpu/gpu_nvidia_slow.h"
#include "probe/gpu/gpu_test_support.h"

namespace tacho {
namespace {

using GpuExtraTest = GpuMachine;

TEST(PcieBytesPerSecond, FollowsGenerationAndWidth) {
  EXPECT_EQ(pcie_bytes_per_s(1, 1), 250'000'000);
  EXPECT_EQ(pcie_bytes_per_s(3, 16), 15'753'846'144);
  EXPECT_EQ(pcie_bytes_per_s(5, 16), 63'015'384'608);
  EXPECT_FALSE(pcie_bytes_per_s(0, 16));
  EXPECT_FALSE(pcie_bytes_per_s(7, 16));
  EXPECT_FALSE(pcie_bytes_per_s(4, 0));
}

TEST_F(GpuExtraTest, HasNothingWithoutADriver) {
  use_library("no-such-library.so");
  EXPECT_FALSE(kGpuExtraProbe.make(context));
}

TEST_F(GpuExtraTest, PowerFromEnergyAndTheHottestDevice) {
  machine("device temp=40 energy=100000\ndevice temp=55 energy=50000\ndevice\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  EXPECT_NEAR(cell("system_gpu_power_w"), 150, 15);
  EXPECT_TRUE(is("system_gpu_temperature_c", 55));
  EXPECT_FALSE(has("system_gpu_pcie_max_bytes_per_s"));
  EXPECT_FALSE(has("system_gpu_nvlink_rx_bytes"));
}

TEST_F(GpuExtraTest, PowerOfTheMomentWhereNoEnergyIsCounted) {
  machine("device power=75000\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  EXPECT_NEAR(cell("system_gpu_power_w"), 75, 1);
}

TEST_F(GpuExtraTest, PcieCountersThatRunOver) {
  machine("device gen=5 width=16 rx=1000000 tx=3000000\n");
  make(kGpuExtraProbe);
  double rx = 0, tx = 0;
  int rows = 0;
  // The counter of 32 bits runs over within the first tenth of a second.
  ASSERT_TRUE(tick_until([&] {
    if (!has("system_gpu_pcie_rx_bytes")) return false;
    rx += cell("system_gpu_pcie_rx_bytes");
    tx += cell("system_gpu_pcie_tx_bytes");
    return ++rows == 10;
  }));
  EXPECT_GT(rx, 0);
  EXPECT_LT(rx, 60'000'000);
  EXPECT_NEAR(tx / rx, 3, 0.2);
  EXPECT_TRUE(is("system_gpu_pcie_max_bytes_per_s", 63'015'384'608));
}

TEST_F(GpuExtraTest, PcieThroughputWhereNoCounterIs) {
  machine("device counters=0 rx=4000000 tx=2000000\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_pcie_rx_bytes"); }));
  EXPECT_NEAR(cell("system_gpu_pcie_rx_bytes") / cell("system_gpu_pcie_tx_bytes"), 2, 0.01);
}

TEST_F(GpuExtraTest, NvlinkOfAllLinks) {
  machine("device links=4 link_kib=1000\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_nvlink_rx_bytes"); }));
  EXPECT_GT(cell("system_gpu_nvlink_tx_bytes"), 0);
  EXPECT_NEAR(cell("system_gpu_nvlink_rx_bytes") / cell("system_gpu_nvlink_tx_bytes"), 2, 0.1);
  EXPECT_TRUE(is("system_gpu_nvlink_max_bytes_per_s", 4 * 26'562e6));
}

// What a device used while a call of it failed is in the next row that has it, and no row has the others alone.
TEST_F(GpuExtraTest, ACallThatFailsLosesNoEnergy) {
  const std::string devices = "device temp=40 energy=100000\ndevice temp=40 energy=50000\n";
  machine(devices);
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  for (const char* error : {"error DeviceGetTotalEnergyConsumption 4 1\n", "error all 15 1\n"}) {
    machine(devices + error);
    int empty = 0;
    ASSERT_TRUE(tick_until([&] {
      if (has("system_gpu_power_w")) { EXPECT_NEAR(cell("system_gpu_power_w"), 150, 15); }
      empty = has("system_gpu_power_w") ? 0 : empty + 1;
      return empty > 15;  // it is read every 450 ms
    }));
    machine(devices);
    ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
    EXPECT_NEAR(cell("system_gpu_power_w"), 150, 15);
  }
}

TEST_F(GpuExtraTest, WhatTheUnitsDo) {
  machine("device sm=90 occupancy=50 tensor=80.5 dram=nan\ndevice sm=10 occupancy=150 tensor=0 dram=40\ndevice\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_sm_active"); }));
  EXPECT_NEAR(cell("system_gpu_sm_active"), 0.5, 1e-6);
  EXPECT_NEAR(cell("system_gpu_sm_occupancy"), 0.75, 1e-6);  // never above the whole
  EXPECT_NEAR(cell("system_gpu_tensor_active"), 0.4025, 1e-6);
  EXPECT_NEAR(cell("system_gpu_dram_active"), 0.4, 1e-6);  // of the one that tells
  machine("device\n");
  EXPECT_TRUE(tick_until([&] { return !has("system_gpu_sm_active"); }));
}

TEST_F(GpuExtraTest, WhatTheUnitsOfTheJobsGpusDo) {
  machine("device sm=90 tensor=10 dram=20\ndevice sm=30 tensor=20 dram=nan\ndevice sm=40 tensor=0 dram=10\n");
  make(kGpuExtraProbe);
  context.gpus_of_job = {false, true, true};
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_sm_active"); }));
  EXPECT_NEAR(cell("process_gpu_sm_active"), 0.4, 1e-6);  // a stranger keeps the first one busy
  EXPECT_NEAR(cell("process_gpu_tensor_active"), 0.2, 1e-6);
  EXPECT_NEAR(cell("process_gpu_dram_active"), 0.1, 1e-6);
  context.gpus_of_job = {false, false, false};
  for (int i = 0; i < 20; ++i) {
    tick();
    EXPECT_FALSE(has("process_gpu_sm_active"));
  }
}

TEST_F(GpuExtraTest, EachDeviceHasItsOwnColumns) {
  machine("device sm=90 occupancy=50 tensor=80.5 dram=nan\ndevice\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return probe->knows_devices(); }));
  const std::vector<DeviceColumn> listed = probe->list_devices();
  ASSERT_EQ(listed.size(), 2 * kGpuUnits);
  EXPECT_EQ(listed[0].name, "gpu_0_sm_active");
  EXPECT_EQ(listed[7].name, "gpu_1_dram_active");
  std::vector<DeviceValue> values(listed.size());
  ASSERT_TRUE(tick_until([&] {
    std::fill(values.begin(), values.end(), DeviceValue{});
    probe->read_devices(values);
    return values[0].has();
  }));
  EXPECT_EQ(values[0].value, 900'000);
  EXPECT_EQ(values[1].value, 500'000);
  EXPECT_EQ(values[2].value, 805'000);
  EXPECT_FALSE(values[3].has());  // not a number
  EXPECT_FALSE(values[4].has());  // no such counters
  // It stands until the next one is due, and no longer: a device that is lost says nothing.
  for (int i = 0; i < 10; ++i) {
    tick();
    std::fill(values.begin(), values.end(), DeviceValue{});
    probe->read_devices(values);
    EXPECT_EQ(values[0].value, 900'000);
    EXPECT_TRUE(has("system_gpu_sm_active"));
  }
  machine("device sm=90 occupancy=50 tensor=80.5 dram=nan\ndevice\nerror all 15 0\n");
  EXPECT_TRUE(tick_until([&] {
    std::fill(values.begin(), values.end(), DeviceValue{});
    probe->read_devices(values);
    return !values[0].has() && !has("system_gpu_sm_active");
  }));
}

TEST_F(GpuExtraTest, ASliceOfAGpuIsNotToldByTheWholeOfIt) {
  machine(
      "device sm=90 occupancy=50 tensor=80 dram=10 mig=1\ndevice sm=80 occupancy=1 tensor=1 dram=1\n"
      "instance 0 total=100 used=40\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_sm_active"); }));
  EXPECT_NEAR(cell("system_gpu_sm_active"), 0.8, 1e-6);
  context.gpus_of_job = {true, false};
  for (int i = 0; i < 20; ++i) {
    tick();
    EXPECT_FALSE(has("system_gpu_sm_active"));
    EXPECT_FALSE(has("process_gpu_sm_active"));
  }
}

TEST(GpuLinkMeter, TheBusierDirectionOfItsSpeed) {
  GpuLinkMeter meter;
  meter.take(1000, 5000, 10'000, kNsPerSec);
  EXPECT_EQ(meter.level().stamp_ns, 0);
  meter.take(2000, 5500, 10'000, kNsPerSec + 10 * kNsPerMs);  // too close
  EXPECT_EQ(meter.level().stamp_ns, 0);
  meter.take(9000, 6000, 10'000, 2 * kNsPerSec);
  EXPECT_EQ(meter.level().ppm, 800'000);
  meter.take(9000, 6000, std::nullopt, 3 * kNsPerSec);
  EXPECT_EQ(meter.level().stamp_ns, 2 * kNsPerSec);
  meter.take(0, 0, 10'000, 3 * kNsPerSec);  // went back
  EXPECT_EQ(meter.level().ppm, 0);
  meter.take(1'000'000, 0, 10'000, 4 * kNsPerSec);
  EXPECT_EQ(meter.level().ppm, 1'000'000);
}

TEST_F(GpuExtraTest, TheBusiestLinkOfTheJobsGpus) {
  // Of 500 MB/s each: 0.2, 0.8 and 0.4; the second is not the job's at first. Half of the first's would be 0.1 in a
  // sum.
  machine(
      "device gen=2 width=1 rx=100000000 tx=1000\ndevice gen=2 width=1 rx=1000 tx=400000000\n"
      "device gen=2 width=1 counters=0 rx=200000000 tx=1000 links=4 link_kib=20000000\n");
  make(kGpuExtraProbe);
  context.gpus_of_job = {true, false, false};
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_pcie_busiest"); }));
  EXPECT_NEAR(cell("process_gpu_pcie_busiest"), 0.2, 0.03);
  EXPECT_FALSE(has("process_gpu_nvlink_busiest"));
  context.gpus_of_job = {false, false, true};
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_nvlink_busiest") && has("process_gpu_pcie_busiest"); }));
  EXPECT_NEAR(cell("process_gpu_pcie_busiest"), 0.4, 0.03);
  EXPECT_GT(cell("process_gpu_nvlink_busiest"), 0);
  context.gpus_of_job = {true, true, true};
  tick();
  EXPECT_NEAR(cell("process_gpu_pcie_busiest"), 0.8, 0.1);
}

TEST_F(GpuExtraTest, WithoutCountersNoDeviceHasColumns) {
  machine("device temp=40\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return probe->knows_devices(); }));
  EXPECT_TRUE(probe->list_devices().empty());
}

TEST_F(GpuExtraTest, EnergyAndHowItWasRead) {
  machine("device temp=40 energy=100000\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_energy_j"); }));
  EXPECT_GT(cell("system_gpu_energy_j"), 0);
  EXPECT_EQ(context.gpu_energy_method, "nvml");
  EXPECT_FALSE(has("system_gpu_sm_active"));  // an older GPU has no such counters
}

TEST_F(GpuExtraTest, ALostDriverLeavesNothing) {
  machine("device temp=40 energy=100000\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  machine("device temp=40 energy=100000\nerror all 1\n");
  ASSERT_TRUE(tick_until([&] { return !has("system_gpu_temperature_c"); }));
  for (int i = 0; i < 3; ++i) {
    tick();
    EXPECT_FALSE(has("system_gpu_power_w"));
  }
  machine("device temp=41 energy=100000\n");
  EXPECT_TRUE(tick_until([&] { return is("system_gpu_temperature_c", 41); }));
}

}  // namespace
}  // namespace tacho
