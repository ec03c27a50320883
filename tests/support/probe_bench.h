// One probe over a kernel tree of a test's own: copy a fixture, change files, tick, look at cells.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "probe/kit/probe.h"
#include "support/temp_dir.h"

namespace tacho {

// A copy of tests/fixtures/NAME that may be changed.
class KernelTree {
 public:
  explicit KernelTree(const std::string& fixture) {
    std::filesystem::copy(std::string(TACHO_FIXTURES) + "/" + fixture, dir_.path(),
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  }
  Roots roots() const { return {dir_ / "proc", dir_ / "sys", dir_ / "etc"}; }
  // Keeps the file's inode: a probe has it open.
  void write(const std::string& path, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(dir_ / path).parent_path());
    spill(dir_ / path, text);
  }
  std::string read(const std::string& path) const { return slurp(dir_ / path); }
  void replace(const std::string& path, std::string_view from, std::string_view to) {
    std::string text = read(path);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in " << path;
    write(path, text.replace(at, from.size(), to));
  }
  void remove(const std::string& path) { std::filesystem::remove_all(dir_ / path); }

 private:
  TempDir dir_;
};

class ProbeBench {
 public:
  ProbeBench(const ProbeInfo& info, const Roots& roots, pid_t net_pid = 0) : info_(info) {
    context.roots = roots;
    context.net_pid = net_pid;
    probe = std::move(*info.make(context));
  }
  // Reads once, one second after the last time.
  void tick() {
    // As the sampler does it.
    std::swap(before, now);
    before.keep_from(now);
    now.clear();
    now.stamp_ns = stamp_ns_ += 1'000'000'000;
    probe->read(now);
  }
  double cell(std::string_view column) const {
    for (const Column& candidate : info_.columns)
      if (candidate.name == column) return derive(candidate, before, now);
    ADD_FAILURE() << "no column " << column;
    return kAbsent;
  }
  Detail detail() {
    Detail result;
    probe->describe(result);
    return result;
  }

  ProbeContext context;
  std::unique_ptr<Probe> probe;
  Reading before, now;

 private:
  const ProbeInfo& info_;
  int64_t stamp_ns_ = 1'000'000'000;
};

}  // namespace tacho
