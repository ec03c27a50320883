// NVIDIA's devices and slow counters as the reader process tells them (gpu_reader.h): back-ends like those that ask the
// driver themselves, on the same threads, waiting for a socket instead. In a steady round nothing is allocated.
#pragma once
#include <memory>
#include <vector>

#include "probe/gpu/gpu_counters.h"
#include "probe/gpu/gpu_messages.h"
#include "probe/gpu/gpu_reader.h"

namespace tacho {

class RemoteNvidia final : public GpuBackend {
 public:
  explicit RemoteNvidia(std::shared_ptr<GpuChannel> channel);
  GpuState sample(const GpuRequest& request, std::vector<GpuSample>& out) override;
  std::shared_ptr<const std::vector<GpuIdentity>> identities() const override { return identities_; }
  std::span<const ProcessVram> holders() const override { return holders_; }
  PidMapping pid_mapping() const override { return pids_; }
  std::string_view method() const override { return "nvml"; }

 private:
  static bool ask(const GpuChannel::Line& line, const GpuRequest& request);
  bool hear(const GpuChannel::Line& line, RoundAnswer& answer, GpuChannel::Trouble& trouble);
  bool take_holders(std::span<const std::byte> packet);
  void take_identity(const IdentityMessage& message);

  std::shared_ptr<GpuChannel> channel_;
  std::unique_ptr<RoundBuffer> buffer_;
  std::vector<GpuIdentity> coming_;
  std::shared_ptr<const std::vector<GpuIdentity>> identities_;
  std::vector<ProcessVram> holders_;
  PidMapping pids_ = PidMapping::same;
};

class RemoteCounters final : public GpuCounterSource {
 public:
  explicit RemoteCounters(std::shared_ptr<GpuChannel> channel) : channel_(std::move(channel)) {}
  void read(bool tick, GpuCounters& out) override;

 private:
  std::shared_ptr<GpuChannel> channel_;
};

}  // namespace tacho
