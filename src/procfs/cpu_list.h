// CPU lists as the kernel writes them in /sys/devices/system/cpu/online, cpuset.cpus.effective and Cpus_allowed_list.
// Pure; no I/O, no allocation.
//   0-3,8
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tacho {

// How many CPUs the list names; nothing when it is not a list. An empty text is an empty list: 0.
std::optional<int64_t> count_cpu_list(std::string_view text);

}  // namespace tacho
