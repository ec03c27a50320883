#include "probe/core_places.h"

#include <algorithm>
#include <string>

#include "base/saturate.h"
#include "base/text.h"
#include "procfs/scan.h"

namespace tacho {
namespace {

constexpr int64_t kMostNumber = 65'535;  // of a core; a larger one makes no sense

// "0-3,8,10-11"
template <class Visit>
void visit_cpu_list(std::string_view text, Visit&& visit) {
  Scanner scan(text);
  for (int64_t first = 0; scan.number(first);) {
    int64_t last = first;
    if (scan.literal("-") && !scan.number(last)) return;
    for (int64_t cpu = first; cpu <= std::min(last, kMostNumber); ++cpu) visit(static_cast<size_t>(cpu));
    if (!scan.literal(",")) return;
  }
}

}  // namespace

void CorePlaces::list(const Roots& roots, std::span<const CpuTicks> cores) {
  by_node_ = cores.size() > kMostCores;
  numbers_.clear();
  of_core_.clear();
  for (const CpuTicks& core : cores)
    if (core.number >= 0 && core.number <= kMostNumber && static_cast<size_t>(core.number) >= of_core_.size())
      of_core_.resize(static_cast<size_t>(core.number) + 1, kNone);
  if (by_node_) return list_nodes(roots, cores);
  for (const CpuTicks& core : cores) {
    if (core.number < 0 || core.number > kMostNumber) continue;
    of_core_[static_cast<size_t>(core.number)] = static_cast<uint32_t>(numbers_.size());
    numbers_.push_back(core.number);
  }
}

// Where the kernel knows no nodes, all cores are in one.
void CorePlaces::list_nodes(const Roots& roots, std::span<const CpuTicks> cores) {
  const std::string folder = roots.sys + "/devices/system/node";
  list_directory(folder, [&](std::string_view name) {
    if (!name.starts_with("node")) return;
    if (const auto number = parse_int<int64_t>(name.substr(4)); number && *number >= 0) numbers_.push_back(*number);
  });
  std::sort(numbers_.begin(), numbers_.end());
  for (size_t i = 0; i < numbers_.size(); ++i)
    visit_cpu_list(read_first_line(folder + "/node" + std::to_string(numbers_[i]) + "/cpulist"), [&](size_t cpu) {
      if (cpu < of_core_.size()) of_core_[cpu] = static_cast<uint32_t>(i);
    });
  const auto is_known = [&](const CpuTicks& core) {
    return core.number < 0 || core.number > kMostNumber || of_core_[static_cast<size_t>(core.number)] != kNone;
  };
  if (!std::all_of(cores.begin(), cores.end(), is_known)) {
    numbers_ = {0};
    std::fill(of_core_.begin(), of_core_.end(), 0);
  }
}

std::vector<DeviceColumn> CorePlaces::columns() const {
  std::vector<DeviceColumn> columns;
  for (const int64_t number : numbers_)
    columns.push_back({(by_node_ ? "node_" : "core_") + std::to_string(number) + "_usage", DeviceRule::share, 1, 4});
  return columns;
}

void CorePlaces::fill(std::span<const CpuTicks> cores, std::span<DeviceValue> values) const {
  for (const CpuTicks& core : cores) {
    const auto number = static_cast<size_t>(core.number);
    if (core.number < 0 || number >= of_core_.size() || of_core_[number] >= values.size()) continue;
    DeviceValue& value = values[of_core_[number]];
    if (!value.has()) value.value = 0;
    value.value = saturating_add(value.value, core.busy());
    value.whole = saturating_add(value.whole, core.total());
  }
}

}  // namespace tacho
