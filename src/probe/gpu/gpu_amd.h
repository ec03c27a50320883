// AMD devices from sysfs (Documentation/gpu/amdgpu: gpu_busy_percent, mem_info_vram_*, hwmon) and, for the job's share,
// from the DRM clients in /proc/PID/fdinfo (Linux 5.19). No library is needed. Lives on the GPU thread: reading a
// sleeping card wakes it up, which takes a while.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "os/file.h"
#include "probe/gpu/gpu_device.h"

namespace tacho {

// The kernel module is loaded.
bool amdgpu_present(const Roots& roots);

// What the job's processes use through /dev/dri: fdinfo of the descriptors that lead there. The descriptors of a
// process are searched anew every few rounds; in between only known ones are read.
class AmdJob {
 public:
  explicit AmdJob(const Roots& roots) : proc_(roots.proc) {}

  struct Share {
    int64_t usage_ppm = 0, vram_bytes = 0;
    bool usage_known = false, vram_known = false, context = false;
  };
  // One share a card, in the order of the PCI addresses given.
  void read(const std::vector<pid_t>& pids, const std::vector<std::string>& pdevs, std::vector<Share>& out);
  std::span<const ProcessVram> holders() const { return holders_; }  // of the last reading

 private:
  struct Process {
    pid_t pid;
    int rounds_left = 0;   // until its descriptors are searched again
    std::vector<int> fds;  // those of /dev/dri
  };
  struct Client {
    size_t card;
    uint64_t id;
    int64_t engine_ns = -1, engine_before_ns = -1;  // −1: unknown
    bool seen = false;                              // in this round: a client that is open twice counts once
  };
  void search(Process& process);
  void read_process(Process& process, const std::vector<std::string>& pdevs, std::vector<Share>& out);

  std::string proc_;
  ReadBuffer buffer_;
  std::vector<Process> processes_;
  std::vector<Client> clients_;
  std::vector<ProcessVram> holders_;
  int64_t before_ns_ = 0;
};

class AmdBackend final : public GpuBackend {
 public:
  explicit AmdBackend(const Roots& roots);
  GpuState sample(const GpuRequest& request, std::vector<GpuSample>& out) override;
  std::shared_ptr<const std::vector<GpuIdentity>> identities() const override { return identities_; }
  std::span<const ProcessVram> holders() const override { return job_.holders(); }
  std::string_view method() const override { return "amdgpu"; }

 private:
  struct Card {
    KeptFile busy, vram_used, vram_total, temperature, power, clock;
  };
  std::optional<int64_t> number(KeptFile& file);
  std::optional<int64_t> clock_mhz(KeptFile& file);

  ReadBuffer buffer_;
  std::vector<Card> cards_;
  std::vector<std::string> pdevs_;
  std::shared_ptr<const std::vector<GpuIdentity>> identities_;
  AmdJob job_;
  std::vector<AmdJob::Share> shares_;
};

}  // namespace tacho
