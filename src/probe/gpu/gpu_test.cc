#include "probe/gpu/gpu.h"

#include "probe/gpu/gpu_test_support.h"

namespace tacho {
namespace {

constexpr double kMiBPerGiB = 1024;

using GpuTest = GpuMachine;

TEST_F(GpuTest, WithoutAnyDriverThereIsAMeasuredNothing) {
  use_library("no-such-library.so");
  make();
  tick();  // at once: there is no thread to wait for
  EXPECT_TRUE(is("system_gpu_usage", 0));
  EXPECT_TRUE(is("system_gpu_vram_mib", 0));
  EXPECT_TRUE(is("system_gpu_utilized", 0));
  EXPECT_FALSE(has("process_gpu_usage"));
  EXPECT_FALSE(has("process_gpu_vram_mib"));
  EXPECT_FALSE(has("process_gpu_utilized"));
  EXPECT_FALSE(kGpuProbe.check(context.roots));
}

TEST_F(GpuTest, ALibraryWithoutADriverIsNoGpu) {
  machine("error Init_v2 9\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_TRUE(is("system_gpu_usage", 0));
  EXPECT_FALSE(has("process_gpu_utilized"));
  EXPECT_NE(kGpuProbe.check(context.roots).error().message().find("a made-up error (9)"), std::string::npos);
}

TEST_F(GpuTest, ADriverThatRefusesIsUnknown) {
  machine("error Init_v2 4\n");
  make();
  for (int i = 0; i < 5; ++i) tick();
  EXPECT_FALSE(has("system_gpu_usage"));
  EXPECT_FALSE(has("system_gpu_utilized"));
  EXPECT_EQ(kGpuProbe.check(context.roots).error().code, Code::denied);
}

TEST_F(GpuTest, SumsAllDevices) {
  std::string text;
  for (int i = 0; i < 6; ++i)
    text += "device util=" + std::to_string(i * 10) + " total=85899345920 reserved=1048576 used=1073741824\n";
  machine(text);
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_TRUE(is("system_gpu_usage", 1.5));
  EXPECT_TRUE(is("system_gpu_vram_mib", 6 * kMiBPerGiB));  // what is reserved is not used
  EXPECT_TRUE(is("system_gpu_utilized", 5));
  EXPECT_TRUE(is("process_gpu_usage", 0));  // there, and unused by the job
  EXPECT_TRUE(is("process_gpu_vram_mib", 0));
  EXPECT_TRUE(is("process_gpu_utilized", 0));
  EXPECT_TRUE(kGpuProbe.check(context.roots));
}

TEST_F(GpuTest, CountsTheJobOnceAndNobodyElse) {
  job.pids = {100, 200, 300};
  machine(
      "device util=90 total=85899345920 used=1073741824\n"
      "device util=10 total=85899345920 used=1073741824\n"
      "process 0 compute 100 104857600\n"
      "process 0 graphics 100 104857600\n"
      "process 0 mps 100 104857600\n"
      "process 0 compute 200 na\n"
      "process 0 compute 555 4194304000\n"
      "process 1 compute 100 1048576\n"
      "process 1 compute 666 4194304000\n"
      "sample 0 100 40 20\nsample 0 100 60 10\nsample 0 200 10 10\nsample 0 555 90 10\n"
      "sample 1 100 5 10\nsample 1 300 200 10\n"
      "sample 0 100 100 7200000\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_usage") && cell("process_gpu_usage") > 0; }));
  EXPECT_NEAR(cell("process_gpu_usage"), 0.5 + 0.1 + 0.05, 1e-6);
  EXPECT_NEAR(cell("process_gpu_vram_mib"), 101, 1e-6);
  EXPECT_TRUE(is("process_gpu_utilized", 2));
  // Never from the beginning of time: one interval back at first.
  std::istringstream log(call_log());
  std::string word;
  long long device = 0, age_us = 0;
  int calls = 0;
  while (log >> word)
    if (word == "utilization" && log >> device >> age_us) {
      EXPECT_LT(age_us, 60'000'000);
      ++calls;
    }
  EXPECT_GT(calls, 0);
}

TEST_F(GpuTest, NoJobNoShare) {
  context.job_pids = nullptr;
  machine("device util=90 total=85899345920 used=1073741824\nprocess 0 compute 100 104857600\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_FALSE(has("process_gpu_usage"));
  EXPECT_FALSE(has("process_gpu_vram_mib"));
  EXPECT_FALSE(has("process_gpu_utilized"));
}

TEST_F(GpuTest, AJobThatEndedHoldsNothing) {
  job.pids = {100};
  machine("device util=90 total=85899345920 used=1073741824\nprocess 0 compute 100 1048576\n");
  make();
  ASSERT_TRUE(tick_until([&] { return is("process_gpu_vram_mib", 1); }));
  job.pids.clear();
  ASSERT_TRUE(tick_until([&] { return is("process_gpu_vram_mib", 0); }));
  EXPECT_TRUE(is("process_gpu_utilized", 0));
}

TEST_F(GpuTest, MemoryThatIsNotToldIsEmpty) {
  job.pids = {100};
  machine("device util=1 total=85899345920 used=1073741824\nprocess 0 compute 100 na\n");
  make();
  ASSERT_TRUE(tick_until([&] { return is("process_gpu_utilized", 1); }));
  EXPECT_FALSE(has("process_gpu_vram_mib"));
  EXPECT_TRUE(is("process_gpu_usage", 0));  // the driver has no sample of it
}

TEST_F(GpuTest, ManyProcessesNeedALargerBuffer) {
  std::string text = "device util=1 total=85899345920 used=1073741824\n";
  for (int pid = 1000; pid < 1200; ++pid) {
    job.pids.push_back(pid);
    text += "process 0 compute " + std::to_string(pid) + " 1048576\n";
  }
  machine(text);
  make();
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_vram_mib"); }));
  EXPECT_TRUE(is("process_gpu_vram_mib", 200));
  EXPECT_TRUE(is("process_gpu_utilized", 1));
}

TEST_F(GpuTest, MigHasMemoryButNoUtilisation) {
  job.pids = {100};
  machine(
      "device mig=1 util=0 total=85899345920 used=85899345920\n"
      "instance 0 total=10737418240 used=1073741824\n"
      "instance 0 total=10737418240 used=2147483648\n"
      "process 0 compute 100 1048576 0\nprocess 0 compute 100 1048576 1\nprocess 0 compute 777 1048576 1\n"
      "error DeviceGetProcessUtilization 3\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_vram_mib"); }));
  EXPECT_TRUE(is("system_gpu_vram_mib", 3 * kMiBPerGiB));
  EXPECT_FALSE(has("system_gpu_usage"));
  EXPECT_FALSE(has("system_gpu_utilized"));
  EXPECT_TRUE(is("process_gpu_vram_mib", 2));
  EXPECT_TRUE(is("process_gpu_utilized", 1));
  EXPECT_FALSE(has("process_gpu_usage"));
}

TEST_F(GpuTest, OneLostDeviceHidesNoOther) {
  const std::string devices =
      "device util=50 total=1048576000 used=1048576\ndevice util=70 total=1048576000 used=2097152\n";
  machine(devices + "error all 15 1\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_TRUE(is("system_gpu_usage", 0.5));
  EXPECT_TRUE(is("system_gpu_vram_mib", 1));
  machine(devices);
  EXPECT_TRUE(tick_until([&] { return is("system_gpu_usage", 1.2); }));  // found again
}

TEST_F(GpuTest, ADeviceThatFailsLeavesNoSmallerSum) {
  job.pids = {100};
  const std::string devices =
      "device util=50 total=1048576000 used=1048576\ndevice util=70 total=1048576000 used=2097152\n"
      "process 1 compute 100 1048576\n";
  machine(devices);
  make();
  probe->describe(*std::make_unique<Detail>());
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_usage", 1.2) && is("process_gpu_vram_mib", 1); }));
  machine(devices + "error all 15 1\n");
  ASSERT_TRUE(tick_until([&] { return !has("system_gpu_usage"); }));
  for (const Column& column : kGpuProbe.columns) EXPECT_FALSE(has(column.name)) << column.name;
  ASSERT_EQ(context.notes.size(), 1u);
  EXPECT_NE(context.notes[0].find("could not be read"), std::string::npos) << context.notes[0];
  Detail detail;
  probe->describe(detail);
  ASSERT_EQ(detail.gpus.size(), 2u) << "the lists keep the others";
  EXPECT_EQ(detail.gpus[0].utilization_pct, 50);
  EXPECT_FALSE(detail.gpus[1].utilization_pct);
  // One value alone that fails leaves its own sum empty, no other.
  machine(devices + "error DeviceGetUtilizationRates 4 1\n");
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_vram_mib", 3); }));
  EXPECT_FALSE(has("system_gpu_usage"));
  EXPECT_FALSE(has("system_gpu_utilized"));
  machine(devices);
  EXPECT_TRUE(tick_until([&] { return is("system_gpu_usage", 1.2); }));
}

TEST_F(GpuTest, OneCallThatFailsHidesNoOther) {
  job.pids = {100};
  machine(
      "device util=50 total=1048576000 used=1048576\nprocess 0 compute 100 1048576\n"
      "error DeviceGetUtilizationRates 3\nerror DeviceGetProcessUtilization 4\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_vram_mib"); }));
  EXPECT_FALSE(has("system_gpu_usage"));
  EXPECT_FALSE(has("system_gpu_utilized"));
  EXPECT_FALSE(has("process_gpu_usage"));
  EXPECT_TRUE(is("process_gpu_vram_mib", 1));
}

TEST_F(GpuTest, MemoryOfTheFirstKindWhereTheSecondIsMissing) {
  machine("device util=50 total=1048576000 reserved=1048576 used=1048576\nerror DeviceGetMemoryInfo_v2 13\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_vram_mib"); }));
  EXPECT_TRUE(is("system_gpu_vram_mib", 2));
}

TEST_F(GpuTest, WorksWithTheFunctionsOf2011) {
  use_library("libfake_nvml_old.so");
  job.pids = {100};
  machine(
      "device util=50 total=1048576000 reserved=1048576 used=1048576\nprocess 0 compute 100 3145728\n"
      "process 0 graphics 100 3145728\nprocess 0 compute 101 1048576\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_TRUE(is("system_gpu_usage", 0.5));
  EXPECT_TRUE(is("system_gpu_vram_mib", 2));
  EXPECT_TRUE(is("process_gpu_vram_mib", 3));
  EXPECT_TRUE(is("process_gpu_utilized", 1));
  EXPECT_FALSE(has("process_gpu_usage"));
}

TEST_F(GpuTest, ADriverThatDisappearsIsFoundAgain) {
  const std::string device = "device util=50 total=1048576000 used=1048576\n";
  machine(device);
  make();
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_usage", 0.5); }));
  machine(device + "error all 9\n");
  ASSERT_TRUE(tick_until([&] { return !has("system_gpu_usage"); }));
  for (int i = 0; i < 3; ++i) {
    tick();
    EXPECT_FALSE(has("system_gpu_usage"));  // not 0: there was a GPU
    EXPECT_FALSE(has("system_gpu_vram_mib"));
  }
  machine(device);
  EXPECT_TRUE(tick_until([&] { return is("system_gpu_usage", 0.5); }));
}

TEST_F(GpuTest, AHangingCallDelaysNoRow) {
  const std::string device = "device util=50 total=1048576000 used=1048576\n";
  machine(device);
  make();
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_usage", 0.5); }));
  machine(device + "delay DeviceGetUtilizationRates 2000\n");
  ASSERT_TRUE(tick_until([&] { return !has("system_gpu_usage"); }));
  machine("device util=70 total=1048576000 used=1048576\n");
  // Rows go on, empty, while the call hangs; then the late answer is taken.
  int empty_rows = 0;
  EXPECT_TRUE(tick_until([&] {
    empty_rows += has("system_gpu_usage") ? 0 : 1;
    return is("system_gpu_usage", 0.7);
  }));
  EXPECT_GE(empty_rows, 5);
}

TEST_F(GpuTest, EndsWhileTheDriverHangs) {
  machine("device util=50 total=1048576000 used=1048576\ndelay Init_v2 3000\n");
  make();
  tick();
  EXPECT_FALSE(has("system_gpu_usage"));
  probe.reset();  // returns: nobody waits for the thread
}

TEST_F(GpuTest, DescribesDevicesAndHost) {
  machine(
      "device name=H200 util=25 total=1048576000 used=524288000 temp=40 power=250500 clock=1980 cores=16896\n"
      "device name=H200 util=0 total=1048576000 used=0\ndriver 580.159\n");
  make();
  tacho::Run run;
  probe->describe_run(run);
  EXPECT_FALSE(run.host.host_gpu_count);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  Detail detail;
  probe->describe(detail);
  ASSERT_EQ(detail.gpus.size(), 2u);
  const GpuDetail& gpu = detail.gpus[0];
  EXPECT_EQ(gpu.name, "H200");
  EXPECT_EQ(gpu.uuid, "GPU-fake-0");
  EXPECT_EQ(gpu.device_type, "GPU");
  const std::vector<std::pair<std::string, std::string>> expected = {{"driver_version", "580.159"},
                                                                     {"pci_bus_id", "00000000:01:00.0"}};
  EXPECT_EQ(gpu.detail, expected);
  EXPECT_EQ(gpu.utilization_pct, 25);
  EXPECT_EQ(gpu.vram_total_bytes, 1048576000);
  EXPECT_EQ(gpu.vram_used_bytes, 524288000);
  EXPECT_EQ(gpu.temperature_celsius, 40);
  EXPECT_EQ(gpu.power_watts, 250.5);
  EXPECT_EQ(gpu.frequency_mhz, 1980);
  EXPECT_EQ(gpu.core_count, 16896);
  EXPECT_FALSE(detail.gpus[1].temperature_celsius);
  probe->describe_run(run);
  EXPECT_EQ(run.host.host_gpu_model, "H200");
  EXPECT_EQ(run.host.host_gpu_count, 2);
  EXPECT_EQ(run.host.host_gpu_memory_mib, 2000);
  EXPECT_EQ(run.method.gpu, "nvml");
}

TEST_F(GpuTest, InAnotherPidNamespaceNumbersNeedAProof) {
  job.pids = {100};
  std::filesystem::create_directories(folder / "proc/self/ns");
  std::filesystem::create_directories(folder / "proc/100/fd");
  std::filesystem::create_symlink("pid:[4026532266]", folder / "proc/self/ns/pid");
  std::filesystem::create_symlink("/dev/null", folder / "proc/100/fd/0");
  std::ofstream(folder / "proc/self/status") << "Name:\ttacho\nNSpid:\t17\n";
  context.roots.proc = folder / "proc";
  machine("device util=50 total=1048576000 used=1048576\nprocess 0 compute 100 1048576\nsample 0 100 50 10\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_FALSE(has("process_gpu_usage"));
  EXPECT_FALSE(has("process_gpu_vram_mib"));
  EXPECT_FALSE(has("process_gpu_utilized"));
  EXPECT_FALSE(context.notes.empty());
  std::filesystem::create_symlink("/dev/nvidia0", folder / "proc/100/fd/7");
  EXPECT_TRUE(tick_until([&] { return is("process_gpu_vram_mib", 1) && is("process_gpu_utilized", 1); }));
}

TEST_F(GpuTest, AProcFromOutsideHasTheDriversNumbers) {
  job.pids = {100};
  std::filesystem::create_directories(folder / "proc/self/ns");
  std::filesystem::create_symlink("pid:[4026532266]", folder / "proc/self/ns/pid");
  std::ofstream(folder / "proc/self/status") << "Name:\ttacho\nNSpid:\t4711\t17\n";
  context.roots.proc = folder / "proc";
  machine("device util=50 total=1048576000 used=1048576\nprocess 0 compute 100 1048576\n");
  make();
  EXPECT_TRUE(tick_until([&] { return is("process_gpu_vram_mib", 1); }));
}

}  // namespace
}  // namespace tacho
