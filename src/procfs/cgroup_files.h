// Parsers of cgroup files, v1 and v2 (cgroups(7), Documentation/admin-guide/cgroup-v2.rst). Pure, no allocation.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

// /proc/PID/cgroup: `4:memory:/a/b` (v1), `0::/a/b` (v2, no controllers). Calls visit(controllers, path).
template <class Visit>
void parse_cgroup_paths(std::string_view text, Visit&& visit) {
  for (Scanner scan(text); !scan.done();) {
    const std::string_view line = scan.line();
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second != std::string_view::npos) visit(line.substr(first + 1, second - first - 1), line.substr(second + 1));
  }
}

// A file that holds one number: memory.current, cpuacct.usage. "max" and garbage are absent.
std::optional<int64_t> parse_single(std::string_view text);

// The value behind a key in `key value` lines: cpu.stat, memory.events, memory.oom_control.
std::optional<int64_t> parse_keyed(std::string_view text, std::string_view key);

// cpu.stat (v2): `user_usec 12`, `system_usec 3`, `nr_throttled 0`, `throttled_usec 0`; a line that is not there leaves
// its number as it was.
void parse_cpu_stat(std::string_view text, int64_t& user_us, int64_t& system_us, int64_t& throttled_us,
                    int64_t& throttled_periods);

// cpu.max: `200000 100000` is 2 cores, `max 100000` is none.
std::optional<double> parse_cpu_max(std::string_view text);

// io.stat (v2): `259:0 rbytes=4096 wbytes=0 rios=1 …`; blkio.throttle.io_service_bytes (v1): `259:0 Read 4096`.
struct CgroupIo {
  int64_t read_bytes = 0, write_bytes = 0;
};
CgroupIo parse_io_stat(std::string_view text);
CgroupIo parse_blkio_bytes(std::string_view text);

// cpuset.cpus.effective: `0-3,8` is 5. Absent when empty or damaged.
std::optional<int64_t> count_cpu_list(std::string_view text);

}  // namespace tacho
