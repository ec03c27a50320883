// Load average of the machine by sysinfo(2). Thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tacho {

std::optional<int64_t> load1_of_machine();  // in hundredths, as /proc/loadavg prints it

// Whether a file below /proc is the kernel's: on the proc file system itself, not mounted over.
bool is_kernels_own_proc(const std::string& path);

}  // namespace tacho
