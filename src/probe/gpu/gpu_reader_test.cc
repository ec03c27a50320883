// The reader process, and main() of this folder's tests: they start themselves as readers.
#include "probe/gpu/gpu_reader.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "probe/gpu/gpu_remote.h"
#include "probe/gpu/gpu_test_support.h"

int main(int argc, char** argv) {
  if (const auto status = tacho::serve_as_gpu_reader(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

namespace tacho {
namespace {

constexpr const char* kDevice = "device util=50 total=1048576000 used=1048576\n";

class GpuReaderTest : public GpuMachine {
 protected:
  GpuReaderTest() {
    limits.pause_ns = 1;
    machine(kDevice);
  }
  // Without the probe around it: a question, and what the sampling thread does at every tick.
  GpuState ask(GpuReader& reader, RemoteNvidia& backend) {
    samples.clear();
    const GpuState state = backend.sample({}, samples);
    reader.look_after(context);
    return state;
  }
  bool has_note(const std::string& words) const {
    for (const std::string& note : context.notes)
      if (note.find(words) != std::string::npos) return true;
    return false;
  }
  bool ask_until(GpuReader& reader, RemoteNvidia& backend, GpuState wanted) {
    for (int i = 0; i < 3000; ++i) {
      if (ask(reader, backend) == wanted) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  NvidiaOptions options;
  ReaderLimits limits;
  std::vector<GpuSample> samples;
};

TEST_F(GpuReaderTest, OneThatEndsLeavesEmptyRowsAndComesBack) {
  make();
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_usage", 0.5); }));
  const pid_t first = GpuReader::running_pid();
  ASSERT_GT(first, 0);
  ASSERT_EQ(::kill(first, SIGINT), 0);  // Ctrl-C is none of its business
  machine("device util=70 total=1048576000 used=1048576\n");
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_usage", 0.7); }));
  EXPECT_EQ(GpuReader::running_pid(), first);

  ASSERT_EQ(::kill(first, SIGTERM), 0);
  ASSERT_TRUE(tick_until([&] { return !has("system_gpu_usage"); }));
  EXPECT_FALSE(has("system_gpu_vram_mib"));
  EXPECT_FALSE(has("process_gpu_utilized"));
  ASSERT_TRUE(tick_until([&] { return is("system_gpu_usage", 0.7); }));
  EXPECT_NE(GpuReader::running_pid(), first);
  EXPECT_TRUE(has_note("the process that reads the NVIDIA driver ended"));
  EXPECT_FALSE(has_note("tacho doctor says why"));  // one note is enough
}

TEST_F(GpuReaderTest, IsSharedByTheProbes) {
  make();
  const pid_t first = GpuReader::running_pid();
  const auto extra = kGpuExtraProbe.make(context);
  ASSERT_TRUE(extra);
  EXPECT_EQ(GpuReader::running_pid(), first);
  probe.reset();
  EXPECT_EQ(GpuReader::running_pid(), first);
}

TEST_F(GpuReaderTest, GoesWithTheProbe) {
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  const pid_t pid = GpuReader::running_pid();
  ASSERT_GT(pid, 0);
  probe.reset();
  EXPECT_EQ(GpuReader::running_pid(), 0);
  int status = 0;
  const pid_t got = ::waitpid(pid, &status, 0);
  if (got < 0) {
    EXPECT_EQ(errno, ECHILD) << "reaped by the probe itself already";
    return;
  }
  EXPECT_EQ(got, pid);
  // By the end of its channel, or killed: whichever comes first.
  EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      << status;
}

TEST_F(GpuReaderTest, IsNotStartedAgainAndAgain) {
  limits.pace_ns = INT64_MAX / 8;
  GpuReader reader(options, limits);
  RemoteNvidia backend(reader.rounds());
  reader.look_after(context);
  const pid_t first = reader.pid();
  ASSERT_GT(first, 0);
  ASSERT_TRUE(ask_until(reader, backend, GpuState::ready));
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  ASSERT_TRUE(ask_until(reader, backend, GpuState::failed));
  ASSERT_EQ(samples.size(), 1u);  // a known device, now unknown
  EXPECT_FALSE(samples[0].usage_ppm);
  ASSERT_TRUE(ask_until(reader, backend, GpuState::ready));
  ASSERT_NE(reader.pid(), first);
  ASSERT_EQ(::kill(reader.pid(), SIGKILL), 0);
  ASSERT_TRUE(ask_until(reader, backend, GpuState::failed));
  for (int i = 0; i < 100 && reader.pid() != 0; ++i) {
    reader.look_after(context);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(reader, backend), GpuState::failed);
  EXPECT_EQ(reader.pid(), 0);
  EXPECT_TRUE(reader.in_trouble());
}

TEST_F(GpuReaderTest, OneThatHangsIsReplaced) {
  limits.patience_ns = 500'000'000;
  limits.pace_ns = 1;
  GpuReader reader(options, limits);
  RemoteNvidia backend(reader.rounds());
  reader.look_after(context);
  ASSERT_TRUE(ask_until(reader, backend, GpuState::ready));
  const pid_t first = reader.pid();
  machine(std::string(kDevice) + "delay DeviceGetUtilizationRates 600000\n");
  ASSERT_TRUE(ask_until(reader, backend, GpuState::failed));
  EXPECT_TRUE(has_note("did not answer"));
  machine(kDevice);
  EXPECT_TRUE(ask_until(reader, backend, GpuState::ready));
  EXPECT_NE(reader.pid(), first);
  // On a busy machine another answer may be late, too.
  for (int i = 0; i < 100 && reader.in_trouble(); ++i) ask_until(reader, backend, GpuState::ready);
  EXPECT_FALSE(reader.in_trouble());
}

TEST_F(GpuReaderTest, HoldsNoDescriptorOfOurs) {
  const std::string path = folder / "spool";
  std::ofstream held(path);
  const Fd inherited(::dup(1));  // not closed on exec
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  const std::string proc = "/proc/" + std::to_string(GpuReader::running_pid());
  for (int fd = 0; fd < 3; ++fd) EXPECT_EQ(read_link(proc + "/fd/" + std::to_string(fd)), "/dev/null");
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    const int fd = std::stoi(entry.path().filename());
    const std::string target = read_link(entry.path());  // empty: closed meanwhile
    EXPECT_NE(target, path);
    // The fake driver opens its files for a moment.
    const bool of_the_driver = target.starts_with(folder.string());
    EXPECT_TRUE(fd < 3 || target.empty() || target.starts_with("socket:") || of_the_driver) << target;
  }
}

TEST_F(GpuReaderTest, ALargeJobIsToldInParts) {
  for (int pid = 100; pid < 100 + 20'000; ++pid) job.pids.push_back(pid);
  machine(std::string(kDevice) +
          "process 0 compute 100 1048576\nprocess 0 compute 20099 2097152\nprocess 0 compute 20100 4194304\n");
  make();
  ASSERT_TRUE(tick_until([&] { return has("process_gpu_vram_mib"); }));
  EXPECT_TRUE(tick_until([&] { return is("process_gpu_vram_mib", 3); }));
}

TEST_F(GpuReaderTest, CountersOfTwoReadersAreNotSubtracted) {
  machine("device temp=40 energy=100000\n");
  make(kGpuExtraProbe);
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  ASSERT_EQ(::kill(GpuReader::running_pid(), SIGKILL), 0);
  ASSERT_TRUE(tick_until([&] { return !has("system_gpu_temperature_c"); }));
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_power_w"); }));
  EXPECT_NEAR(cell("system_gpu_power_w"), 100, 20);
}

TEST_F(GpuReaderTest, ALibraryThatIsNoneIsNoGpu) {
  ::setenv("TACHO_NVML_LIBRARY", (folder / "machine").c_str(), 1);
  make();
  ASSERT_TRUE(tick_until([&] { return has("system_gpu_usage"); }));
  EXPECT_TRUE(is("system_gpu_usage", 0));
  EXPECT_FALSE(has("process_gpu_usage"));
}

}  // namespace
}  // namespace tacho
