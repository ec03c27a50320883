// One line of processes.csv: a process of the job, or several that were merged into one line. Plain data; kept small,
// since thousands of them are held while a run goes on (the command is read again from the file, see
// sink/process_file.h).
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tacho {

// GPU memory that a process holds now, on all devices.
struct ProcessVram {
  pid_t pid = 0;
  int64_t bytes = 0;
};

struct ProcessRecord {
  static constexpr int64_t kUnknown = -1;

  std::array<char, 16> name{};  // comm, as the kernel has it; ends with a zero
  pid_t pid = 0, ppid = 0;      // as the job sees them; 0: none
  int exit = -1;                // as from wait4; −1: not known
  uint32_t count = 1;           // processes in this line
  int64_t started_ms = 0;       // UNIX time
  int64_t ended_ms = 0;         // 0: it lives
  int64_t cpu_ns = 0;           // its own
  int64_t peak_bytes = kUnknown, read_bytes = kUnknown, write_bytes = kUnknown, vram_bytes = kUnknown;
  // Where its last line is in the file, for its command.
  uint64_t line_at = 0;
  uint32_t line_bytes = 0;  // 0: nowhere

  std::string_view name_view() const { return {name.data(), ::strnlen(name.data(), name.size())}; }
  void set_name(std::string_view text) {
    name = {};
    std::copy_n(text.data(), std::min(text.size(), name.size() - 1), name.data());
  }

  // Both become one line: sums, the largest peaks, from the earliest start to the latest end.
  void merge(const ProcessRecord& other) {
    const auto add = [](int64_t& sum, int64_t more) { sum = std::max<int64_t>(sum, 0) + std::max<int64_t>(more, 0); };
    pid = ppid = 0;
    exit = -1;
    line_bytes = 0;
    count += other.count;
    cpu_ns += other.cpu_ns;
    started_ms = std::min(started_ms, other.started_ms);
    ended_ms = ended_ms == 0 || other.ended_ms == 0 ? 0 : std::max(ended_ms, other.ended_ms);
    peak_bytes = std::max(peak_bytes, other.peak_bytes);
    vram_bytes = std::max(vram_bytes, other.vram_bytes);
    if (read_bytes >= 0 || other.read_bytes >= 0) add(read_bytes, other.read_bytes);
    if (write_bytes >= 0 || other.write_bytes >= 0) add(write_bytes, other.write_bytes);
  }
};

}  // namespace tacho
