// A Detail with one of everything, for tests of what is written from it.
#pragma once
#include "model/detail.h"

namespace tacho {

inline Detail sample_detail(int64_t tick) {
  constexpr int64_t kMi = 1 << 20;
  Detail detail;
  detail.stamp_ns = 5'000'000'000 + tick * 2'000'000'000;
  detail.cores = {{1'000'000'000 + tick * 500'000'000, 9'000'000'000 + tick * 2'000'000'000},
                  {1'000'000'000 + tick * 2'000'000'000, 9'000'000'000 + tick * 2'000'000'000}};
  detail.memory = {1000 * kMi, 250 * kMi, 500 * kMi, 500 * kMi + 512 * 1024, 10 * kMi, 20 * kMi, 0,
                   0,          30 * kMi,  40 * kMi};
  detail.network = {
      {"eth0", "52:54:00:12:34:56", "virtio_net", "up", 1000, 1500, 1000 + tick * 4000, 500 + tick * 100, true},
      {"lo", "", "", "unknown", -1, 65536, 9, 9, false},
      {"veth1", "", "veth", "up", 10000, 1500, 7, 7, false}};
  detail.disks = {{"vda",
                   "",
                   "0x1af4",
                   "",
                   "ssd",
                   8'000'000'000,
                   {{"/", "ext4", 4000, 1000, 3000}},
                   4096 * tick,
                   8192 * tick,
                   true}};
  GpuDetail gpu;
  gpu.uuid = "GPU-1";
  gpu.name = "H200";
  gpu.device_type = "nvidia";
  gpu.detail = {{"driver_version", "555.1"}, {"pci_bus_id", "0000:01:00.0"}};
  gpu.utilization_pct = 71.5;
  gpu.vram_total_bytes = 1000;
  gpu.vram_used_bytes = 250;
  detail.gpus = {gpu};
  detail.limits.cpu_quota_cores = 1.5;
  detail.limits.memory_limit_bytes = 64 * kMi;
  detail.cgroup_usage_s = 10.0 + 3.0 * static_cast<double>(tick);
  detail.process_pss_bytes = 1.5 * static_cast<double>(kMi);
  detail.process_memory_source = "pss";
  return detail;
}

}  // namespace tacho
