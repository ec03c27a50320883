// A machine for the tests of the GPU probes: the fake driver of tests/fake_nvml with a script that can be changed while
// the probe runs, an empty sysfs, and a job of given pids.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "os/clock.h"
#include "probe/gpu/gpu.h"

namespace tacho {

struct FixedPids final : JobPids {
  std::vector<pid_t> pids;
  void copy(std::vector<pid_t>& sorted) const override { sorted.assign(pids.begin(), pids.end()); }
};

class GpuMachine : public testing::Test {
 protected:
  GpuMachine() {
    folder = std::filesystem::temp_directory_path() / ("tacho-gpu-" + std::to_string(::getpid()) + "-" +
                                                       testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / "sys");
    context.roots.sys = folder / "sys";
    context.interval_ns = 60'000'000;
    context.job_pids = &job;
    use_library("libfake_nvml.so");
    ::setenv("FAKE_NVML", (folder / "machine").c_str(), 1);
    ::setenv("FAKE_NVML_LOG", (folder / "log").c_str(), 1);
  }
  ~GpuMachine() override {
    probe.reset();
    ::unsetenv("TACHO_NVML_LIBRARY");
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  static void use_library(const std::string& name) {
    ::setenv("TACHO_NVML_LIBRARY", (std::string(TACHO_BUILD_DIR) + "/lib/" + name).c_str(), 1);
  }
  // Replaces the whole machine in one step: a call never sees half of it.
  void machine(const std::string& text) const {
    std::ofstream(folder / "next") << text;
    std::filesystem::rename(folder / "next", folder / "machine");
  }
  std::string call_log() const {
    std::ifstream file(folder / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void make(const ProbeInfo& info = kGpuProbe) {
    columns = info.columns;
    auto made = info.make(context);
    ASSERT_TRUE(made) << made.error().message();
    probe = std::move(*made);
  }
  // One row, as the engine does it.
  void tick() {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    std::swap(before, now);
    before.keep_from(now);
    probe->prepare();
    now.clear();
    now.stamp_ns = system_clock().monotonic_ns();
    probe->read(now);
  }
  // Rows until one is as expected; the driver takes its time, a slow machine too.
  bool tick_until(const std::function<bool()>& expected) {
    for (int i = 0; i < 250; ++i) {
      tick();
      if (expected()) return true;
    }
    return false;
  }
  double cell(std::string_view name) const {
    for (const Column& column : columns)
      if (column.name == name) return derive(column, before, now);
    ADD_FAILURE() << "no column " << name;
    return kAbsent;
  }
  bool has(std::string_view name) const { return !is_absent(cell(name)); }
  bool is(std::string_view name, double value) const { return std::abs(cell(name) - value) < 1e-6; }

  std::filesystem::path folder;
  FixedPids job;
  ProbeContext context;
  std::unique_ptr<Probe> probe;
  std::span<const Column> columns;
  Reading before, now;
};

}  // namespace tacho
