// What does not fit into columns: one entry a core, interface, disk, mount and GPU, and memory in full. Filled by the
// probes only when an output wants it (JSON lines), with cumulative counters; the codec derives rates from two of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tacho {

struct CoreDetail {
  int64_t busy_ns = 0;   // user+nice+system+irq+softirq
  int64_t total_ns = 0;  // all eight fields up to steal
  int64_t idle_ns = 0, iowait_ns = 0, steal_ns = 0;
  int64_t number = 0;  // N of cpuN
};

struct MemoryDetail {
  std::optional<int64_t> total_bytes, free_bytes, available_bytes, used_bytes, buffers_bytes, cached_bytes,
      swap_total_bytes, swap_free_bytes, active_bytes, inactive_bytes;
};

struct NetDetail {
  std::string interface, mac_address, driver, operstate;
  int64_t speed_mbps = -1;  // −1: not reported
  std::optional<int64_t> mtu;
  int64_t rx_bytes = 0, tx_bytes = 0;
  bool counted = false;  // part of system_net_* sums
};

struct MountDetail {
  std::string mount_point, filesystem;
  int64_t total_bytes = 0, used_bytes = 0, available_bytes = 0;
};

struct DiskDetail {
  std::string device, model, vendor, serial, device_type;
  std::optional<int64_t> capacity_bytes;
  std::vector<MountDetail> mounts;
  std::optional<int64_t> read_bytes, write_bytes;  // absent for a ZFS pool: its disks tell
  bool counted = false;
};

struct GpuDetail {
  std::string uuid, name, device_type, host_id;
  std::vector<std::pair<std::string, std::string>> detail;  // driver_version, pci_bus_id …
  std::optional<double> utilization_pct, temperature_celsius, power_watts, frequency_mhz;
  std::optional<int64_t> vram_total_bytes, vram_used_bytes, core_count;
};

struct LimitsDetail {
  std::optional<double> cpu_quota_cores, cpuset_cpus;
  std::optional<int64_t> memory_limit_bytes;
};

// Share of the last ten seconds in which work stood still, in percent (PSI avg10).
struct PressureDetail {
  std::optional<double> cpu_some, memory_some, memory_full, io_some, io_full;
};

struct Detail {
  int64_t stamp_ns = 0;
  std::vector<CoreDetail> cores;
  MemoryDetail memory;
  std::vector<NetDetail> network;  // sorted by name
  std::vector<DiskDetail> disks;   // sorted by device
  std::vector<GpuDetail> gpus;
  LimitsDetail limits;
  PressureDetail pressure;
  std::optional<double> cgroup_usage_s;  // cumulative CPU time of the job's cgroup
  std::optional<double> process_pss_bytes, process_rss_bytes;
  const char* process_memory_source = nullptr;  // "pss", "pss_scaled", "rss"
};

}  // namespace tacho
