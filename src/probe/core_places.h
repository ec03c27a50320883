// Which column of devices.csv a core counts in: one of its own, or that of its NUMA node on a machine with more than
// 256 cores. Relies on /sys/devices/system/node/nodeN/cpulist. Not thread-safe; fill() does not allocate.
#pragma once
#include <span>
#include <vector>

#include "model/device.h"
#include "os/file.h"
#include "procfs/stat.h"

namespace tacho {

class CorePlaces {
 public:
  static constexpr size_t kMostCores = 256;

  void list(const Roots& roots, std::span<const CpuTicks> cores);
  std::vector<DeviceColumn> columns() const;
  // Cores that came since have no column; those that went leave theirs empty.
  void fill(std::span<const CpuTicks> cores, std::span<DeviceValue> values) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  void list_nodes(const Roots& roots, std::span<const CpuTicks> cores);

  bool by_node_ = false;
  std::vector<int64_t> numbers_;   // of cores or nodes, a column each
  std::vector<uint32_t> of_core_;  // by the core's number: its column
};

}  // namespace tacho
