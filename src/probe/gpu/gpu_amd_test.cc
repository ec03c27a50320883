#include "probe/gpu/gpu_amd.h"

#include <fcntl.h>

#include "probe/gpu/gpu_test_support.h"

namespace tacho {
namespace {

// A captured tree of two cards (tests/fixtures/amdgpu), copied so that a test can change it.
class AmdTest : public GpuMachine {
 protected:
  AmdTest() {
    std::filesystem::copy(TACHO_FIXTURES "/amdgpu", folder,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing |
                              std::filesystem::copy_options::copy_symlinks);
    context.roots.proc = folder / "proc";
    use_library("no-such-library.so");
  }
  void open_dri(pid_t pid, int fd, const std::string& fdinfo, const char* node = "/dev/dri/renderD128") const {
    const auto process = folder / "proc" / std::to_string(pid);
    std::filesystem::create_directories(process / "fd");
    std::filesystem::create_directories(process / "fdinfo");
    std::filesystem::remove(process / "fd" / std::to_string(fd));
    std::filesystem::create_symlink(node, process / "fd" / std::to_string(fd));
    std::ofstream(process / "fdinfo" / std::to_string(fd)) << fdinfo;
  }
  static std::string client(int id, int64_t engine_ns, int vram_kib, const char* pdev = "0000:03:00.0") {
    return "pos:\t0\ndrm-driver:\tamdgpu\ndrm-client-id:\t" + std::to_string(id) + "\ndrm-pdev:\t" + pdev +
           "\ndrm-memory-vram:\t" + std::to_string(vram_kib) + " KiB\ndrm-engine-gfx:\t" + std::to_string(engine_ns) +
           " ns\n";
  }
};

TEST_F(AmdTest, ReadsCards) {
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_TRUE(is("system_gpu_usage", 0.37));  // card1 is of another maker, card2 idle
  EXPECT_TRUE(is("system_gpu_utilized", 1));
  EXPECT_TRUE(is("system_gpu_vram_mib", 1024 + 16));
  EXPECT_TRUE(is("process_gpu_usage", 0));
  EXPECT_TRUE(is("process_gpu_vram_mib", 0));
  EXPECT_TRUE(is("process_gpu_utilized", 0));
  Detail detail;
  probe->describe(detail);
  ASSERT_TRUE(tick_until([&] {
    detail.gpus.clear();
    probe->describe(detail);
    return detail.gpus.size() == 2 && detail.gpus[0].temperature_celsius.has_value();
  }));
  const GpuDetail& gpu = detail.gpus[0];
  EXPECT_EQ(gpu.name, "Radeon Pro W6800");
  EXPECT_EQ(gpu.uuid, "8a2f3c1d5e6b7f90");
  EXPECT_EQ(gpu.temperature_celsius, 54);
  EXPECT_EQ(gpu.power_watts, 131);
  EXPECT_EQ(gpu.frequency_mhz, 2450);
  EXPECT_EQ(gpu.vram_total_bytes, int64_t{32} << 30);
  EXPECT_EQ(detail.gpus[1].name, "AMD GPU 0x164e");
  EXPECT_FALSE(detail.gpus[1].power_watts);
  tacho::Run run;
  probe->describe_run(run);
  EXPECT_EQ(run.host.host_gpu_model, "Radeon Pro W6800");
  EXPECT_EQ(run.host.host_gpu_count, 2);
  EXPECT_EQ(run.method.gpu, "amdgpu");
  EXPECT_TRUE(kGpuProbe.check(context.roots));
}

TEST_F(AmdTest, CountsAClientOnceAndOnlyTheJobs) {
  job.pids = {100, 101};
  open_dri(100, 5, client(7, 1'000'000'000, 1024));
  open_dri(100, 6, client(7, 1'000'000'000, 1024));  // a duplicate descriptor
  open_dri(101, 5, client(7, 1'000'000'000, 1024));  // inherited by a child
  open_dri(101, 9, client(8, 0, 2048, "0000:0c:00.0"));
  open_dri(101, 10, client(9, 0, 4096), "/tmp/other");
  open_dri(500, 5, client(10, 0, 8192));  // somebody else's
  make();
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_vram_mib"); }));
  EXPECT_TRUE(is("process_gpu_vram_mib", 3));
  EXPECT_TRUE(is("process_gpu_utilized", 2));
}

TEST_F(AmdTest, UsageIsWhatTheEnginesAdded) {
  open_dri(100, 5, client(7, 5'000'000'000, 1024));
  AmdJob amd(context.roots);
  std::vector<AmdJob::Share> shares;
  amd.read({100}, {"0000:03:00.0", "0000:0c:00.0"}, shares);
  EXPECT_FALSE(shares[0].usage_known);  // no value before
  EXPECT_TRUE(shares[1].usage_known);
  const int64_t start_ns = system_clock().monotonic_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  open_dri(100, 5, client(7, 5'025'000'000, 1024));
  amd.read({100}, {"0000:03:00.0", "0000:0c:00.0"}, shares);
  const auto most_s = 1e-9 * static_cast<double>(system_clock().monotonic_ns() - start_ns);
  EXPECT_TRUE(shares[0].usage_known);
  EXPECT_LE(shares[0].usage_ppm, 500'000 + 1000);  // 25 ms of at least 50
  EXPECT_GE(static_cast<double>(shares[0].usage_ppm), 1e6 * 0.025 / most_s * 0.9);
  EXPECT_EQ(shares[1].usage_ppm, 0);
  // The process ends: its client is forgotten.
  amd.read({}, {"0000:03:00.0", "0000:0c:00.0"}, shares);
  EXPECT_FALSE(shares[0].context);
  EXPECT_EQ(shares[0].vram_bytes, 0);
}

TEST_F(AmdTest, NoModuleNoCards) {
  std::filesystem::remove_all(folder / "sys/module");
  EXPECT_FALSE(amdgpu_present(context.roots));
  make();
  tick();
  EXPECT_TRUE(is("system_gpu_usage", 0));
  EXPECT_FALSE(has("process_gpu_usage"));
}

TEST_F(AmdTest, PowerAndTemperature) {
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  EXPECT_NEAR(cell("system_gpu_power_w"), 131, 1);
  EXPECT_TRUE(is("system_gpu_temperature_c", 54));
}

}  // namespace
}  // namespace tacho
